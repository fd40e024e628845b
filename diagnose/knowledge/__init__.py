"""The rules as data: the shape of rule files, the language of conditions, and loading with every error named."""
