"""One module per source: each recognises a format by its content and turns it into facts."""
