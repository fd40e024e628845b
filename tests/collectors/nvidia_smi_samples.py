"""One invented machine as `nvidia-smi -q` prints it, as text and as XML, and older forms of single sections."""

from __future__ import annotations

TEXT = """
==============NVSMI LOG==============

Timestamp                                              : Tue Mar  4 08:15:16 2025
Driver Version                                         : 580.65.06
CUDA Version                                           : 13.0

Attached GPUs                                          : 2
GPU 00000000:1A:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    Product Architecture                               : Hopper
    Display Mode                                       : Requested functionality has been deprecated
    Display Active                                     : Disabled
    Persistence Mode                                   : Enabled
    MIG Mode
        Current                                        : Enabled
        Pending                                        : Disabled
    MIG Device
        Index                                          : 0
        ECC Errors
            Volatile
                SRAM Uncorrectable                     : 7
        FB Memory Usage
            Total                                      : 40448 MiB
    MIG Device
        Index                                          : 1
    GPU UUID                                           : GPU-0f4e1c2d-1111-4222-8333-0123456789ab
    Minor Number                                       : 5
    VBIOS Version                                      : 96.00.74.00.1C
    Inforom Version
        Image Version                                  : G520.0200.00.05
    GPU Virtualization Mode
        Virtualization Mode                            : None
    GPU Recovery Action                                : Drain and Reset
    GSP Firmware Version                               : 580.65.06
    PCI
        Device Id                                      : 0x233010DE
        Bus Id                                         : 00000000:1A:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 4
                Device Current                         : 4
                Device Max                             : 5
                Host Max                               : N/A
            Link Width
                Max                                    : 16x
                Current                                : 8x
        Replays Since Reset                            : 12
        Replay Number Rollovers                        : 0
        Tx Throughput                                  : 376 KB/s
        Rx Throughput                                  : 1024 KB/s
    Fan Speed                                          : N/A
    Performance State                                  : P2
    Clocks Event Reasons
        Idle                                           : Not Active
        Applications Clocks Setting                    : Not Active
        SW Power Cap                                   : Active
        HW Slowdown                                    : Active
            HW Thermal Slowdown                        : Not Active
            HW Power Brake Slowdown                    : Active
        Sync Boost                                     : Not Active
        SW Thermal Slowdown                            : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                               : 2500000 us
        Sync Boost                                     : 0 us
        SW Thermal Slowdown                            : 100 us
        HW Thermal Slowdown                            : 0 us
        HW Power Braking                               : 7000000 us
    FB Memory Usage
        Total                                          : 81559 MiB
        Reserved                                       : 600 MiB
        Used                                           : 1024 MiB
        Free                                           : 79935 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
        Used                                           : 1 MiB
    Compute Mode                                       : Default
    Utilization
        GPU                                            : 37 %
        Memory                                         : 5 %
        Encoder                                        : 0 %
        Decoder                                        : N/A
    ECC Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    ECC Errors
        Volatile
            SRAM Correctable                           : 1
            SRAM Uncorrectable Parity                  : 2
            SRAM Uncorrectable SEC-DED                 : 3
            DRAM Correctable                           : 4
            DRAM Uncorrectable                         : 5
        Aggregate
            SRAM Correctable                           : 10
            SRAM Uncorrectable Parity                  : 20
            SRAM Uncorrectable SEC-DED                 : 30
            DRAM Correctable                           : 40
            DRAM Uncorrectable                         : 50
            SRAM Threshold Exceeded                    : Yes
        Channel Repair Pending                         : No
        Unrepairable Memory                            : Unknown Error
    Retired Pages
        Single Bit ECC                                 : N/A
        Double Bit ECC                                 : N/A
        Pending Page Blacklist                         : N/A
    Remapped Rows
        Correctable Error                              : 0
        Uncorrectable Error                            : 2
        Pending                                        : Yes
        Remapping Failure Occurred                     : No
        Bank Remap Availability Histogram
            Max                                        : 2558 bank(s)
            Low                                        : 1 bank(s)
            None                                       : 0 bank(s)
    Temperature
        GPU Current Temp                               : 61 C
        GPU T.Limit Temp                               : 26 C
        GPU Shutdown T.Limit Temp                      : -8 C
        GPU Slowdown T.Limit Temp                      : -2 C
        GPU Target Temperature                         : N/A
        Memory Current Temp                            : 70 C
    GPU Power Readings
        Average Power Draw                             : 412.50 W
        Instantaneous Power Draw                       : 430.25 W
        Current Power Limit                            : 700.00 W
        Default Power Limit                            : 700.00 W
        Min Power Limit                                : 200.00 W
        Max Power Limit                                : 700.00 W
    Module Power Readings
        Average Power Draw                             : 900.00 W
        Current Power Limit                            : N/A
    Clocks
        Graphics                                       : 1410 MHz
        SM                                             : 1410 MHz
        Memory                                         : 2619 MHz
    Applications Clocks
        Graphics                                       : 1980 MHz
    Default Applications Clocks
        Graphics                                       : 1980 MHz
    Max Clocks
        Graphics                                       : 1980 MHz
        SM                                             : 1980 MHz
        Memory                                         : 2619 MHz
    Fabric
        State                                          : Completed
        Status                                         : Success
        CliqueId                                       : 3
        Health
            Summary                                    : Unhealthy
            Bandwidth                                  : Full
            Route Unhealthy                            : True
    Processes
        GPU instance ID                                : N/A
        Compute instance ID                            : N/A
        Process ID                                     : 4242
            Type                                       : C
            Name                                       : python train.py --rank 0
            Used GPU Memory                            : 900 MiB

GPU 00000000:1B:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    GPU UUID                                           : GPU-0f4e1c2d-1111-4222-8333-0123456789ac
    FB Memory Usage
        Total                                          : 81559 MiB
    Processes                                          : None
"""

XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
	<timestamp>Tue Mar 4 08:15:16 2025</timestamp>
	<driver_version>580.65.06</driver_version>
	<cuda_version>13.0</cuda_version>
	<attached_gpus>2</attached_gpus>
	<gpu id="00000000:1A:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<product_architecture>Hopper</product_architecture>
		<display_mode>Requested functionality has been deprecated</display_mode>
		<display_active>Disabled</display_active>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>Enabled</current_mig>
			<pending_mig>Disabled</pending_mig>
		</mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<ecc_error_count>
					<volatile_count>
						<sram_uncorrectable>7</sram_uncorrectable>
					</volatile_count>
				</ecc_error_count>
				<fb_memory_usage>
					<total>40448 MiB</total>
				</fb_memory_usage>
			</mig_device>
			<mig_device>
				<index>1</index>
			</mig_device>
		</mig_devices>
		<uuid>GPU-0f4e1c2d-1111-4222-8333-0123456789ab</uuid>
		<minor_number>5</minor_number>
		<vbios_version>96.00.74.00.1C</vbios_version>
		<inforom_version>
			<img_version>G520.0200.00.05</img_version>
		</inforom_version>
		<gpu_virtualization_mode>
			<virtualization_mode>None</virtualization_mode>
		</gpu_virtualization_mode>
		<gpu_recovery_action>Drain and Reset</gpu_recovery_action>
		<gsp_firmware_version>580.65.06</gsp_firmware_version>
		<pci>
			<pci_device_id>233010DE</pci_device_id>
			<pci_bus_id>00000000:1A:00.0</pci_bus_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>5</max_link_gen>
					<current_link_gen>4</current_link_gen>
					<device_current_link_gen>4</device_current_link_gen>
					<max_device_link_gen>5</max_device_link_gen>
					<max_host_link_gen>N/A</max_host_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>16x</max_link_width>
					<current_link_width>8x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<replay_counter>12</replay_counter>
			<replay_rollover_counter>0</replay_rollover_counter>
			<tx_util>376 KB/s</tx_util>
			<rx_util>1024 KB/s</rx_util>
		</pci>
		<fan_speed>N/A</fan_speed>
		<performance_state>P2</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_applications_clocks_setting>
				Not Active
			</clocks_event_reason_applications_clocks_setting>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
			<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
			<clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
			<clocks_event_reason_sync_boost>Not Active</clocks_event_reason_sync_boost>
			<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown>
		</clocks_event_reasons>
		<clocks_event_reasons_counters>
			<clocks_event_reasons_counters_sw_power_cap>2500000 us</clocks_event_reasons_counters_sw_power_cap>
			<clocks_event_reasons_counters_sync_boost>0 us</clocks_event_reasons_counters_sync_boost>
			<clocks_event_reasons_counters_sw_therm_slowdown>100 us</clocks_event_reasons_counters_sw_therm_slowdown>
			<clocks_event_reasons_counters_hw_therm_slowdown>0 us</clocks_event_reasons_counters_hw_therm_slowdown>
			<clocks_event_reasons_counters_hw_power_brake>7000000 us</clocks_event_reasons_counters_hw_power_brake>
		</clocks_event_reasons_counters>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<reserved>600 MiB</reserved>
			<used>1024 MiB</used>
			<free>79935 MiB</free>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>131072 MiB</total>
			<used>1 MiB</used>
		</bar1_memory_usage>
		<compute_mode>Default</compute_mode>
		<utilization>
			<gpu_util>37 %</gpu_util>
			<memory_util>5 %</memory_util>
			<encoder_util>0 %</encoder_util>
			<decoder_util>N/A</decoder_util>
		</utilization>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Enabled</pending_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>1</sram_correctable>
				<sram_uncorrectable_parity>2</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>3</sram_uncorrectable_secded>
				<dram_correctable>4</dram_correctable>
				<dram_uncorrectable>5</dram_uncorrectable>
			</volatile>
			<aggregate>
				<sram_correctable>10</sram_correctable>
				<sram_uncorrectable_parity>20</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>30</sram_uncorrectable_secded>
				<dram_correctable>40</dram_correctable>
				<dram_uncorrectable>50</dram_uncorrectable>
				<sram_threshold_exceeded>Yes</sram_threshold_exceeded>
			</aggregate>
			<channel_repair_pending>No</channel_repair_pending>
			<unrepairable_memory>Unknown Error</unrepairable_memory>
		</ecc_errors>
		<retired_pages>
			<multiple_single_bit_retirement>
				<retired_count>N/A</retired_count>
			</multiple_single_bit_retirement>
			<double_bit_retirement>
				<retired_count>N/A</retired_count>
			</double_bit_retirement>
			<pending_blacklist>N/A</pending_blacklist>
		</retired_pages>
		<remapped_rows>
			<remapped_row_corr>0</remapped_row_corr>
			<remapped_row_unc>2</remapped_row_unc>
			<remapped_row_pending>Yes</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
			<row_remapper_histogram>
				<row_remapper_histogram_max>2558 bank(s)</row_remapper_histogram_max>
				<row_remapper_histogram_low>1 bank(s)</row_remapper_histogram_low>
				<row_remapper_histogram_none>0 bank(s)</row_remapper_histogram_none>
			</row_remapper_histogram>
		</remapped_rows>
		<temperature>
			<gpu_temp>61 C</gpu_temp>
			<gpu_temp_tlimit>26 C</gpu_temp_tlimit>
			<gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>
			<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
			<gpu_target_temperature>N/A</gpu_target_temperature>
			<memory_temp>70 C</memory_temp>
		</temperature>
		<gpu_power_readings>
			<average_power_draw>412.50 W</average_power_draw>
			<instant_power_draw>430.25 W</instant_power_draw>
			<current_power_limit>700.00 W</current_power_limit>
			<default_power_limit>700.00 W</default_power_limit>
			<min_power_limit>200.00 W</min_power_limit>
			<max_power_limit>700.00 W</max_power_limit>
		</gpu_power_readings>
		<module_power_readings>
			<average_power_draw>900.00 W</average_power_draw>
			<current_power_limit>N/A</current_power_limit>
		</module_power_readings>
		<clocks>
			<graphics_clock>1410 MHz</graphics_clock>
			<sm_clock>1410 MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
		</clocks>
		<applications_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
		</applications_clocks>
		<default_applications_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
		</default_applications_clocks>
		<max_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<sm_clock>1980 MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
		</max_clocks>
		<fabric>
			<state>Completed</state>
			<status>Success</status>
			<cliqueId>3</cliqueId>
			<health>
				<summary>Unhealthy</summary>
				<bandwidth>Full</bandwidth>
				<route_unhealthy>True</route_unhealthy>
			</health>
		</fabric>
		<processes>
			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<compute_instance_id>N/A</compute_instance_id>
				<pid>4242</pid>
				<type>C</type>
				<process_name>python train.py --rank 0</process_name>
				<used_memory>900 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
	<gpu id="00000000:1B:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<uuid>GPU-0f4e1c2d-1111-4222-8333-0123456789ac</uuid>
		<fb_memory_usage>
			<total>81559 MiB</total>
		</fb_memory_usage>
		<processes>
		</processes>
	</gpu>
</nvidia_smi_log>
"""

# As drivers before 450 print: narrower, other names, errors by bits, pages instead of rows.
OLD_TEXT = """\
==============NVSMI LOG==============

Timestamp                           : Mon Feb  5 10:00:00 2018
Driver Version                      : 384.111

Attached GPUs                       : 1
GPU 00000000:04:00.0
    Product Name                    : Tesla P40
    GPU UUID                        : GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee
    Clocks Throttle Reasons
        Idle                        : Active
        SW Power Cap                : Not Active
        HW Slowdown                 : Not Active
    Ecc Mode
        Current                     : Enabled
        Pending                     : Enabled
    ECC Errors
        Volatile
            Single Bit            
                Device Memory       : 3
                Register File       : 0
                Total               : 4
            Double Bit            
                Device Memory       : 1
                Total               : 1
    Retired Pages
        Single Bit ECC              : 2
        Double Bit ECC              : 1
        Pending                     : Yes
    Power Readings
        Power Draw                  : 57.56 W
        Power Limit                 : 240.00 W
        Enforced Power Limit        : 250.00 W
"""  # noqa: W291 - the driver leaves blanks at the ends
