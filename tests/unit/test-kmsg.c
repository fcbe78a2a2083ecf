/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/kmsg.h"

#include "unit.h"

#define SCSI(device) "\n SUBSYSTEM=scsi\n DEVICE=+scsi:" device "\n"
#define USB(device) "\n SUBSYSTEM=usb\n DEVICE=" device "\n"
#define FROM_HOST(text) "3,1,1,-;scsi host6: " text SCSI("host6")
#define FROM_DISK(text) "3,1,1,-;sd 6:0:0:0: [sda] tag#0 " text SCSI("6:0:0:0")
#define PCI "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:14.0\n"
#define CONTROLLER(text)                                                                           \
        "3,1,1,-;xhci_hcd 0000:00:14.0: " text PCI, PLACE_CONTROLLER, "0000:00:14.0", 0, 0

/* Lines of 6.1 and 6.12 about a disk that fails, unless another version is named. */
static const struct {
        const char *record;
        enum place place;
        const char *name;
        unsigned busnum, devnum;
        enum blame blame;
        enum weight weight;
        bool excuses;
        bool follows;
        enum driver driver;
        bool handling;
        bool resets;
} signs[] = {
        /* clang-format off */
        {"6,554,46637194,-;sd 6:0:0:0: [sda] tag#14 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, .handling = true},
        {"6,1,1,-;sr 12:0:0:1: [sr0] tag#3 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD " SCSI("12:0:0:1"),
         PLACE_HOST, "host12", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, .handling = true},
        {"6,1,1,-;scsi 6:0:0:0: tag#14 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, .handling = true},
        {"6,556,46649718,-;scsi host6: uas_eh_device_reset_handler start" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, false, .handling = true, .resets = true},
        {"6,558,46803557,-;scsi host6: uas_eh_device_reset_handler success" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, true, .handling = true, .resets = true},
        /* 4.4 and 7.3 name it after the bus and after the host */
        {"6,1,1,-;scsi host6: uas_eh_bus_reset_handler start" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, false, .handling = true, .resets = true},
        {"6,1,1,-;scsi host6: uas_eh_host_reset_handler FAILED err -19" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_FATAL, false, true, .handling = true},
        {"6,1,1,-;scsi host6: uas_eh_device_reset_handler FAILED to get lock err -16" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_FATAL, false, true, .handling = true},
        {"6,589,65469542,-;sd 6:0:0:0: Device offlined - not ready after error recovery" SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_FATAL, false, true, .handling = true},
        {"3,1,1,-;scsi host6: uas_pre_reset: timed out" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_HIGH, false, true, .handling = true},
        {"3,1,1,-;scsi host6: uas_post_reset: alloc streams error -12 after reset" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_CONTROLLER, WEIGHT_HIGH, false, true},
        {"3,1,1,-;scsi host6: unexpected status cmplt" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"6,557,46778086,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_BRIDGE, WEIGHT_MEDIUM, false, true, .resets = true},
        {"6,1,1,-;usb 1-1.4: reset high-speed USB device number 127 using xhci_hcd" USB("c189:126"),
         PLACE_DEVICE, "1-1.4", 1, 127, BLAME_BRIDGE, WEIGHT_MEDIUM, false, true, .resets = true},
        {"3,559,47555748,-;usb 2-1: stat urb: status -32" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: stat urb: no pending cmd for uas-tag 3" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"6,1,1,-;sd 6:0:0:0: [sda] tag#10 data cmplt err -75 uas-tag 1 inflight: CMD " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"6,1,1,-;scsi 35:0:0:0: tag#0 data cmplt err -32 uas-tag 1 inflight: CMD " SCSI("35:0:0:0"),
         PLACE_HOST, "host35", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"6,1,1,-;sd 6:0:0:0: [sda] tag#12 data cmplt err -71 uas-tag 1 inflight: CMD " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"6,1,1,-;sd 6:0:0:0: [sda] tag#12 data cmplt err -63 uas-tag 1 inflight: CMD " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: sense urb: status -84" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: cmd cmplt err -71" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: cmd cmplt err -62" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: device descriptor read/64, error -71" USB("+usb:2-1"),
         PLACE_PORT, "2-1", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: device descriptor read/8, error -110" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1.4: device not accepting address 5, error -71" USB("+usb:2-1.4"),
         PLACE_PORT, "2-1.4", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"4,1,1,-;usb 2-1.4: Device not responding to setup address." USB("+usb:2-1.4"),
         PLACE_PORT, "2-1.4", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        /* a port has no subsystem: its record has no fields */
        {"3,1,1,-;usb usb2-port1: over-current condition\n", PLACE_PORT, "2-1", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"6,1,1,-;usb usb2-port12: over-current change #3\n", PLACE_PORT, "2-12", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"3,1,1,-;usb 2-1-port3: disabled by hub (EMI?), re-enabling...\n", PLACE_PORT, "2-1.3", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"3,1,1,-;usb 2-1.4-port3: Cannot enable. Maybe the USB cable is bad?\n", PLACE_PORT, "2-1.4.3", 0, 0, BLAME_CABLE, WEIGHT_HIGH, false},
        {"3,1,1,-;usb usb2-port1: unable to enumerate USB device\n", PLACE_PORT, "2-1", 0, 0, BLAME_CABLE, WEIGHT_HIGH, false},
        {"2,1,1,-;hwmon hwmon1: Undervoltage detected!\n SUBSYSTEM=hwmon\n DEVICE=+hwmon:hwmon1\n", PLACE_MACHINE, "", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"2,1,1,-;rpi_firmware soc:firmware: Under-voltage detected! (0x00050005)\n SUBSYSTEM=platform\n DEVICE=+platform:soc:firmware\n",
         PLACE_MACHINE, "", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"4,1,1,-;xhci_hcd 0000:00:14.0: xHCI host not responding to stop endpoint command" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"3,1,1,-;xhci_hcd 0000:00:14.0: xHCI host controller not responding, assume dead" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"3,1,1,-;xhci-hcd xhci-hcd.0.auto: HC died; cleaning up\n SUBSYSTEM=platform\n DEVICE=+platform:xhci-hcd.0.auto\n",
         PLACE_CONTROLLER, "xhci-hcd.0.auto", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"3,1,1,-;tegra-xusb 3610000.usb: HC died; cleaning up\n SUBSYSTEM=platform\n DEVICE=+platform:3610000.usb\n",
         PLACE_CONTROLLER, "3610000.usb", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"3,1,1,-;ehci-pci 0000:00:14.0: HC died; cleaning up" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"3,1,1,-;xhci_hcd 0000:00:14.0: ERROR Transfer event for unknown stream ring slot 2 ep 6" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"4,1,1,-;xhci_hcd 0000:00:14.0: WARN Set TR Deq Ptr cmd failed due to incorrect slot or ep state." PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        /* the second form is of Linux up to 4.8, the third of 6.10 and later */
        {"3,1,1,-;xhci_hcd 0000:00:14.0: ERROR Transfer event for disabled endpoint slot 2 ep 6" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"3,1,1,-;xhci-hcd xhci-hcd.8.auto: ERROR Transfer event for disabled endpoint or incorrect stream ring\n SUBSYSTEM=platform\n DEVICE=+platform:xhci-hcd.8.auto\n",
         PLACE_CONTROLLER, "xhci-hcd.8.auto", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"3,1,1,-;xhci_hcd 0000:00:14.0: Transfer event 4 for unknown stream ring slot 2 ep 6" PCI,
         PLACE_CONTROLLER, "0000:00:14.0", 0, 0, BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"4,1,1,-;xhci_hcd 0000:01:00.0: WARNING: Host System Error\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n",
         PLACE_CONTROLLER, "0000:01:00.0", 0, 0, BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {"6,1,1,-;sd 6:0:0:0: [sda] tag#22 Sense Key : Medium Error [current] " SCSI("6:0:0:0"),
         PLACE_HOST, "host6", 0, 0, BLAME_DISK, WEIGHT_MEDIUM, true},
        {"3,1,1,-;hub 2-1:1.0: hub_ext_port_status failed (err = -71)" USB("+usb:2-1:1.0"),
         PLACE_PORT, "2-1", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;usb 2-1-port3: cannot reset (err = -110)\n", PLACE_PORT, "2-1.3", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;usb usb2-port1: connect-debounce failed\n", PLACE_PORT, "2-1", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"0,1,1,-;watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]\n", PLACE_MACHINE, "", 0, 0, BLAME_HOST, WEIGHT_AROUND, true},
        {"3,1,1,-;Out of memory: Killed process 812 (x) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n", PLACE_MACHINE, "", 0, 0, BLAME_HOST, WEIGHT_AROUND, true},
        {FROM_DISK("Medium access timeout failure. Offlining disk!"), PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_FATAL, false, true, .handling = true},
        {FROM_HOST("uas_reset_resume: alloc streams error -12"), PLACE_HOST, "host6", 0, 0, BLAME_CONTROLLER, WEIGHT_HIGH, false, true},
        {FROM_DISK("unexpected read rdy uas-tag 1 inflight: CMD "), PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {FROM_DISK("unexpected write rdy uas-tag 1 inflight: CMD "), PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {FROM_HOST("bogus IU (0x4) received on status pipe"), PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {FROM_DISK("response iu uas-tag 1 inflight: CMD "), PLACE_HOST, "host6", 0, 0, BLAME_BRIDGE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1: can't read configurations, error -71" USB("+usb:2-1"), PLACE_PORT, "2-1", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;usb 2-1-port3: config error\n", PLACE_PORT, "2-1.3", 0, 0, BLAME_CABLE, WEIGHT_MEDIUM, false},
        {"3,1,1,-;hub 2-1:1.0: hub_hub_status failed (err = -71)" USB("+usb:2-1:1.0"), PLACE_PORT, "2-1", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;hub 2-1:1.0: hub_port_status failed (err = -71)" USB("+usb:2-1:1.0"), PLACE_PORT, "2-1", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;hub 2-1:1.0: get_hub_status failed" USB("+usb:2-1:1.0"), PLACE_PORT, "2-1", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;usb 2-1-port3: cannot warm reset (err = -110)\n", PLACE_PORT, "2-1.3", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {"3,1,1,-;usb 2-1-port3: cannot disable (err = -110)\n", PLACE_PORT, "2-1.3", 0, 0, BLAME_HUB, WEIGHT_MEDIUM, true},
        {CONTROLLER("Abort failed to stop command ring: -110"), BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {CONTROLLER("WARNING: Host Controller Error"), BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {CONTROLLER("controller firmware hang"), BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {CONTROLLER("Host controller not accessible, removed?"), BLAME_CONTROLLER, WEIGHT_FATAL, true},
        {CONTROLLER("WARN Cannot submit Set TR Deq Ptr"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("Set TR Deq already pending, don't submit for 0x1"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("WARN Set TR deq ptr command for freed stream ID 1"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("Mismatch between completed Set TR Deq Ptr command & xHCI internal state."), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("ERROR Unknown event condition 5 for slot 2 ep 6"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("ERROR Transfer event TRB DMA ptr not part of current TD ep_index 6"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("Event dma 0x1 for ep 6 status 13 not part of TD at 0x2"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("ERROR Invalid Transfer event"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("WARN: TRB error for slot 2 ep 6 on endpoint"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("ERROR mismatched command completion event"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("Command completion event does not match command"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {CONTROLLER("WARN: HC couldn't access mem fast enough for slot 2 ep 6"), BLAME_CONTROLLER, WEIGHT_MEDIUM, false},
        {"3,1,1,-;rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n", PLACE_MACHINE, "", 0, 0, BLAME_HOST, WEIGHT_AROUND, true},
        {"3,1,1,-;rcu: INFO: rcu_preempt self-detected stall on CPU\n", PLACE_MACHINE, "", 0, 0, BLAME_HOST, WEIGHT_AROUND, true},
        {"6,1,1,-;PM: hibernation: hibernation exit\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_AWAKE, false},
        {"6,1,1,-;PM: hibernation entry\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_SLEEP, false},
        {"6,1,1,-;PM: suspend entry (s2idle)\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_SLEEP, false},
        {"6,1,1,-;PM: suspend exit\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_AWAKE, false},
        {"6,1,1,-;PM: hibernation: hibernation entry\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_SLEEP, false},
        {"6,1,1,-;PM: hibernation exit\n", PLACE_MACHINE, "", 0, 0, BLAME_NONE, WEIGHT_AWAKE, false}, /* Linux up to 5.7 */
        {"2,1,1,-;Under-voltage detected! (0x00050005)\n", PLACE_MACHINE, "", 0, 0, BLAME_POWER, WEIGHT_FATAL, true},
        {"6,525,38191711,-;scsi host6: uas" SCSI("host6"), PLACE_HOST, "host6", 0, 0, BLAME_NONE, WEIGHT_NEW, false, false, DRIVER_UAS},
        {"6,525,38191711,-;scsi host0: usb-storage 2-1:1.0" SCSI("host0"), PLACE_HOST, "host0", 0, 0, BLAME_NONE, WEIGHT_NEW, false, false,
         DRIVER_USB_STORAGE},
        {"6,518,37567884,-;usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd" USB("+usb:2-1"),
         PLACE_PORT, "2-1", 0, 0, BLAME_NONE, WEIGHT_NEW, false},
        {"6,593,66863151,-;usb 2-1: USB disconnect, device number 2" USB("c189:129"),
         PLACE_DEVICE, "2-1", 2, 2, BLAME_NONE, WEIGHT_GONE, false},
        /* the hub above it was unplugged */
        {"3,1,1,-;scsi host6: uas_eh_device_reset_handler FAILED to get lock err -19" SCSI("host6"),
         PLACE_HOST, "host6", 0, 0, BLAME_NONE, WEIGHT_GONE, false},
        /* clang-format on */
};

static void test_signs(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(signs); i++) {
                struct kmsg k;
                struct sign s;

                assert_row(i, kmsg_parse(signs[i].record, &k) == 0);
                assert_row(i, !k.user);
                assert_row(i, sign_read(&k, &s));
                assert_row(i, s.place == signs[i].place);
                assert_row(i, streq(s.name, signs[i].name));
                assert_row(i, s.busnum == signs[i].busnum && s.devnum == signs[i].devnum);
                assert_row(i, s.blame == signs[i].blame && s.weight == signs[i].weight &&
                                      s.excuses == signs[i].excuses);
                assert_row(i, s.follows == signs[i].follows);
                assert_row(i, s.driver == signs[i].driver);
                assert_row(i, s.handling == signs[i].handling && s.resets == signs[i].resets);
                assert_row(i, s.blame == BLAME_NONE || *s.what);
        }
}

/* Lines that must not count, each with its reason. */
static const char *const silent[] = {
        /* every unbind of uas with a write cache, also after a clean sync */
        "6,567,54385343,-;sd 6:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_ERROR driverbyte=DRIVER_OK" SCSI(
                "6:0:0:0"),
        "5,566,54143123,-;sd 6:0:0:0: [sda] Synchronizing SCSI cache" SCSI("6:0:0:0"),
        /* effects of an unplug or unbind */
        "3,597,67342524,-;usb 2-2: cmd cmplt err -108" USB("c189:130"),
        "6,1,1,-;sd 7:0:0:0: [sdb] tag#22 data cmplt err -19 uas-tag 1 inflight: CMD " SCSI(
                "7:0:0:0"),
        "3,1,1,-;usb 2-2: stat urb: status -104" USB("c189:130"),
        "3,1,1,-;usb 2-2: cmd cmplt err -19" USB("c189:130"),
        "3,1,1,-;hub 2-1:1.0: hub_ext_port_status failed (err = -19)" USB("+usb:2-1:1.0"),
        "3,1,1,-;hub 2-1:1.0: hub_ext_port_status failed (err = -108)" USB("+usb:2-1:1.0"),
        "6,598,67342852,-;sd 7:0:0:0: [sdb] tag#22 uas_zap_pending 0 uas-tag 1 inflight: CMD " SCSI(
                "7:0:0:0"),
        "6,600,67343250,-;sd 7:0:0:0: [sdb] tag#22 FAILED Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK cmd_age=0s" SCSI(
                "7:0:0:0"),
        "3,1,1,-;sd 7:0:0:0: rejecting I/O to offline device" SCSI("7:0:0:0"),
        /* a bare "reset" */
        "6,1,1,-;sd 6:0:0:0: Power-on or device reset occurred" SCSI("6:0:0:0"),
        "6,1,1,-;r8152 2-1:1.0: reset" USB("+usb:2-1:1.0"),
        /* the drive is responsible for bad sectors */
        "6,1,1,-;sd 6:0:0:0: [sda] tag#22 Sense Key : Hardware Error [current] " SCSI(
                "6:0:0:0"), /* of the disk or of the bridge */
        "6,1,1,-;sd 6:0:0:0: [sda] tag#22 Sense Key : Not Ready [current] " SCSI("6:0:0:0"),
        "3,1,1,-;I/O error, dev sda, sector 0 op 0x0:(READ) flags 0x800 phys_seg 1 prio class 2\n",
        "2,1,1,-;EXT4-fs error (device sda1): ext4_journal_check_start:83: comm kworker: Detected aborted journal\n",
        /* names that a device reports */
        "6,521,37597422,-;usb 2-1: Product: uas_eh_abort_handler 0" USB("c189:129"),
        "6,1,1,-;usb 2-1: Manufacturer: over-current condition" USB("c189:129"),
        "5,1,1,-;scsi 6:0:0:0: Direct-Access     uas_eh_d evice_reset_hand FAIL PQ: 0 ANSI: 6" SCSI(
                "6:0:0:0"),
        /* lines from programs: their facility shows it */
        "12,1,1,-;sd 6:0:0:0: [sda] tag#14 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD IN " SCSI(
                "6:0:0:0"),
        "30,1,1,-;usb usb2-port1: over-current condition\n",
        /* the right text with the wrong device */
        "6,1,1,-;sd 6:0:0:0: [sda] tag#14 uas_eh_abort_handler 0\n",
        "6,1,1,-;sd 6:0:0:0: [sda] tag#14 uas_eh_abort_handler 0\n SUBSYSTEM=scsi\n DEVICE=b8:0\n",
        "6,1,1,-;foo usb2-port1: over-current condition\n",
        "6,1,1,-;usb usb2-portx: over-current condition\n",
        "6,1,1,-;usb usb2-port: over-current condition\n",
        "6,1,1,-;usb -port1: over-current condition\n",
        "6,1,1,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd" USB("c4:129"),
        "6,1,1,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd" USB("c189:x"),
        "6,1,1,-;usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd" USB(
                "c189:99999999999999999999"),
        "3,1,1,-;xhci_hcd 0000:00:14.0: HC died; cleaning up\n SUBSYSTEM=usb\n",
        "3,1,1,-;xhci_hcd 0000:00:14.0: HC died; cleaning up\n SUBSYSTEM=pci\n",
        "3,1,1,-;xhci_hcd 0000:00:14.0: HC died; cleaning up\n SUBSYSTEM=pci\n DEVICE=+usb:usb2\n",
        "6,1,1,-;PM: hibernation: Creating image:\n",
        /* a process chooses its name, of at most 15 characters, and the name of its program */
        "6,1,1,-;PM: hibernation[4711]: segfault at 0 ip 0000000000401106 sp 00007ffd error 6 in x entry[401000+1000]\n",
        "6,1,1,-;PM: suspend devices took 0.5 seconds\n",
        "30,1,1,-;PM: suspend entry (deep)\n",
        /* not a message about a device */
        "6,1,1,-;\n",
        "6,1,1,-;uas\n",
        "6,1,1,-;: uas\n",
        "6,1,1,-;x:  y: uas\n",
        "6,1,1,-;usbcore: registered new interface driver uas\n",
        "6,1,1,-;scsi host6: uas2" SCSI("host6"),
        "6,1,1,-;scsi host6: [sda" SCSI("host6"),
        "6,1,1,-;scsi host6: tag#1" SCSI("host6"),
};

static void test_silent(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(silent); i++) {
                struct kmsg k;
                struct sign s;

                assert_row(i, kmsg_parse(silent[i], &k) == 0);
                assert_row(i, !sign_read(&k, &s));
        }
}

static void test_parse(void **state)
{
        static const char record[] =
                "14,18446744073709551615,123456,c,caller=T1;a; text\\x0a\n SUBSYSTEM=usb\n OTHER=x\n DEVICE=c189:1";
        struct kmsg k;

        assert_int_equal(kmsg_parse(record, &k), 0);
        assert_true(k.user);
        assert_true(k.seq == UINT64_MAX);
        assert_int_equal(k.usec, 123456);
        assert_string_equal(k.text, "a; text\\x0a");
        assert_string_equal(k.subsystem, "usb");
        assert_string_equal(k.device, "c189:1");
        /* the parser reads no byte past the record, and writes none past a field */
        for (size_t n = 0; n < strlen(record); n++) {
                char *exact = strndup(record, n);

                assert_non_null(exact);
                (void) kmsg_parse(exact, &k);
                free(exact);
        }
        char big[2048] = "";

        memset(big, 'x', sizeof(big) - 1);
        memcpy(big, "6,1,1,-;", 8);
        memcpy(big + 1000, "\n SUBSYSTEM=", 12);
        memcpy(big + 1500, "\n DEVICE=", 9);
        assert_int_equal(kmsg_parse(big, &k), 0);
        assert_int_equal(strlen(k.text), sizeof(k.text) - 1);
        assert_int_equal(strlen(k.subsystem), sizeof(k.subsystem) - 1);
        assert_int_equal(strlen(k.device), sizeof(k.device) - 1);
}

static void test_malformed(void **state)
{
        static const char *const bad[] = {
                "",
                ";",
                "6",
                "6,",
                "6,1",
                "6,1,1",
                "6,1,1,",
                "6,1,1,-",
                "6,1,1,-\n;x",
                "x,1,1,-;x",
                ",1,1,-;x",
                "6,x,1,-;x",
                "6,1,-1,-;x",
                "18446744073709551616,1,1,-;x",
                "6,18446744073709551616,1,-;x",
                "6 ,1,1,-;x",
        };
        struct kmsg k;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_row(i, kmsg_parse(bad[i], &k) == -EINVAL);
}

static void test_blame(void **state)
{
        for (int b = 0; b < _BLAME_MAX; b++) {
                assert_int_equal(blame_from_string(blame_to_string((enum blame) b)), b);
                assert_true(*blame_sentence((enum blame) b));
        }
        assert_null(blame_to_string(_BLAME_MAX));
        assert_int_equal(blame_from_string("weather"), -EINVAL);
}

/* The interface on which uas gave up, and the error. */
static void test_probe(void **state)
{
        static const struct {
                const char *record;
                int before, after;
        } rows[] = {
                {"4,1,2,-;uas: probe of 2-1:1.0 failed with error -28\n", 0, -28},
                {"4,1,2,-;uas 2-1:1.0: probe with driver uas failed with error -12\n", -28, -12},
                {"4,1,2,-;uas: probe of 2-1:1.1 failed with error -28\n", 0, 0},
                {"4,1,2,-;uas: probe of 2-1:1.0 failed with error -28x\n", 0, 0},
                {"4,1,2,-;uas: probe of 2-1:1.0 failed with error -99999\n", 0, 0},
                {"4,1,2,-;uas: probe of 2-1:1.0 failed with error -4096\n", 0,
                 0}, /* no error number is larger than 4095 */
                {"4,1,2,-;uas: probe of 2-1:1.0 failed with error -4095\n", 0, -4095},
                {"4,1,2,-;usb-storage: probe of 2-1:1.0 failed with error -5\n", 0, 0},
                {"12,1,2,-;uas: probe of 2-1:1.0 failed with error -28\n", 0,
                 0}, /* a line from a program */
                {"6,1,2,-;usb 2-1: new SuperSpeed USB device number 7 using xhci_hcd\n", -28, 0},
                {"6,1,2,-;usb 2-1.1: new SuperSpeed USB device number 7 using xhci_hcd\n", -28,
                 -28},
                {"6,1,2,-;usb 2-1: USB disconnect, device number 7\n", -28, -28},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                int error = rows[i].before;
                struct kmsg k;

                assert_int_equal(kmsg_parse(rows[i].record, &k), 0);
                kmsg_note_probe(&k, "2-1:1.0", &error);
                assert_row(i, error == rows[i].after);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_signs), cmocka_unit_test(test_silent),
                cmocka_unit_test(test_parse), cmocka_unit_test(test_malformed),
                cmocka_unit_test(test_blame), cmocka_unit_test(test_probe),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
