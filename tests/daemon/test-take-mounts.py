#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""TakeMounts=boot: a hook has a disk unmounted that was mounted before uas was there, and mounted again after its switch."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from machine import SWITCH, TOP, Machine, main, patience, until

HOOK = """#!/bin/sh
echo "$0 $1 $2 $UASD_DISKS" | sed 's,.*/,,' >>{top}/hooks
if [ "$1" = mount ]; then
        exec mount -t tmpfs back {at}
fi
{release}
"""


class Take(Machine):
    def setUp(self):
        super().setUp()
        self.hears()
        self.bind('usb-storage')
        self.at = self.tree.path('mnt')
        os.mkdir(self.at)
        self.addCleanup(self.unmount)
        subprocess.run(['mount', '-t', 'tmpfs', 'disk', self.at], check=True)
        # The kernel reports each change of a real mount. Its device is the disk.
        device = os.stat(self.at).st_dev
        self.tree.write('sys/class/block/sdz/dev', f'{os.major(device)}:{os.minor(device)}\n')
        self.tree.write('proc/uptime', '40.20 70.00\n')
        self.conf('[uasd]\nQuietSec=0\nTakeMounts=boot\n')

    def unmount(self):
        while os.path.ismount(self.at):
            subprocess.run(['umount', self.at], check=True)

    def hook(self, name, release, mode=0o755):
        path = 'etc/uasd/release.d/' + name
        self.tree.write(path, HOOK.format(top=self.tree.top, at=self.at, release=release))
        os.chmod(self.tree.path(path), mode)

    def hooks(self):
        try:
            with open(self.tree.path('hooks')) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def mark(self):
        with open(self.tree.path('run/uasd/attachment/' + self.tree.attachment())) as file:
            return [line.strip() for line in file if line.startswith('TAKEN_BY=') and line != 'TAKEN_BY=\n']

    def stays(self, *called, driver='usb-storage'):
        until(lambda: self.disk()['state'] == 'waiting', 'it waits')
        until(lambda: self.at_rest(self.uasd), 'uasd is at rest')
        self.assertEqual(self.hooks(), list(called))
        self.assertEqual(self.disk()['driver'], driver)
        self.assertTrue(os.path.ismount(self.at))

    def test_moved(self):
        "The first hook that succeeds mounts the disk again, after the switch."
        self.hook('10-fails', 'exit 1')
        self.hook('20-works', f'exec umount {self.at}')
        self.hook('30-late', 'exit 0')
        self.both()
        self.driver_is('uas')
        until(lambda: os.path.ismount(self.at), 'it is mounted again')
        called = ['10-fails release 2-1:1.0 sdz', '20-works release 2-1:1.0 sdz', '20-works mount 2-1:1.0 sdz']
        self.assertEqual(self.hooks(), called)
        until(lambda: '2-1:1.0: /etc/uasd/release.d/20-works has mounted it again' in self.journal(), 'uasd says so')
        self.assertEqual(self.mark(), [])

    def test_switch_fails(self):
        self.warns('ROLLED_BACK')
        self.tree.write('fails', '')
        self.hook('works', f'exec umount {self.at}')
        self.both()
        until(lambda: self.hooks()[-1:] == ['works mount 2-1:1.0 sdz'] and os.path.ismount(self.at), 'it is mounted again')
        self.assertEqual(self.disk()['driver'], 'usb-storage')

    def test_no_hook_succeeds(self):
        self.hook('fails', 'exit 1')
        self.both()
        self.stays('fails release 2-1:1.0 sdz')
        self.assertIn('2-1:1.0: no program in /etc/uasd/release.d has unmounted it', self.journal())
        self.assertEqual(self.mark(), [])

    def test_used_meanwhile(self):
        "Another program uses the disk as soon as it is unmounted: it still waits a minute later, and is mounted again."
        self.hook('works', f'mkdir {self.tree.path("sys/class/block/sdz/holders/dm-9")}; exec umount {self.at}')
        self.hurry()
        self.both()
        until(lambda: self.hooks()[1:] and os.path.ismount(self.at), 'it is mounted again')
        self.assertIn(60000, self.pauses())
        self.stays('works release 2-1:1.0 sdz', 'works mount 2-1:1.0 sdz')
        until(lambda: self.mark() == [], 'the mark has gone')

    def test_killed_hook(self):
        "A hook that is killed after it has unmounted the disk mounts it again."
        self.hook('10-dies', f'umount {self.at}; kill -KILL $$')
        self.hook('20-fails', 'exit 1')
        self.both()
        until(lambda: self.hooks()[1:] and os.path.ismount(self.at), 'it is mounted again')
        self.assertEqual(self.hooks(), ['10-dies release 2-1:1.0 sdz', '10-dies mount 2-1:1.0 sdz'])
        self.driver_is('uas')

    def test_killed_worker(self):
        "The process of uasd that waits for the hook is killed. The hook unmounts the disk, and mounts it again after the switch."
        self.hook('10-works', f'kill -KILL $PPID; exec umount {self.at}')
        self.hook('20-late', 'exit 0')
        self.both()
        self.driver_is('uas')
        until(lambda: os.path.ismount(self.at), 'it is mounted again')
        self.assertEqual(self.hooks(), ['10-works release 2-1:1.0 sdz', '10-works mount 2-1:1.0 sdz'])
        until(lambda: self.mark() == [], 'the mark has gone')

    def test_hook_hangs(self):
        "Each hook has 30 s. One that is killed then may have unmounted the disk, and mounts it again."
        self.tree.write('no-patience', '')
        self.hook('10-hangs', f'umount {self.at}; exec sleep 1000')
        self.hook('20-late', 'exit 0')
        self.both()
        until(lambda: self.hooks()[1:] and os.path.ismount(self.at), 'it is mounted again')
        self.assertEqual(self.hooks(), ['10-hangs release 2-1:1.0 sdz', '10-hangs mount 2-1:1.0 sdz'])
        self.driver_is('uas')
        with open(self.tree.path('limits')) as file:
            self.assertEqual(set(file.read().split()), {'30000000'})

    def test_of_others(self):
        "Only root's own files are run: no one else may write to them."
        self.hook('open', f'exec umount {self.at}', mode=0o777)
        self.hook('plain', f'exec umount {self.at}', mode=0o644)
        os.mkdir(self.tree.path('etc/uasd/release.d/folder'))
        self.hook('users', f'exec umount {self.at}')
        os.chown(self.tree.path('etc/uasd/release.d/users'), 65534, 65534)
        self.both()
        self.stays()

    def test_not_asked(self):
        "Not by default, not later, and not if something else uses the disk as well."
        self.hook('works', f'exec umount {self.at}')
        for conf, uptime, busy in (('', '40.20 70.00\n', False), ('TakeMounts=no\n', '40.20 70.00\n', False), ('TakeMounts=boot\n', '301.00 1.00\n', False),
                                   ('TakeMounts=boot\n', '', False), ('TakeMounts=boot\n', '40.20 70.00\n', True)):
            with self.subTest(conf=conf, uptime=uptime, busy=busy):
                self.conf('[uasd]\nQuietSec=0\n' + conf)
                self.tree.write('proc/uptime', uptime)
                if busy:
                    os.mkdir(self.tree.path('sys/class/block/sdz/holders/dm-9'))
                bus = self.start_bus()
                daemon = self.start_on_bus()
                self.stays()
                daemon.terminate()
                daemon.wait()
                bus.terminate()
                bus.wait()

    def test_inhibited(self):
        "Not while a program inhibits the switch."
        self.hook('works', f'exec umount {self.at}')
        self.use(True)
        self.both()
        self.stays()
        inhibitor = self.start_ctl('inhibit', 'sh', '-c', 'echo begun; read x', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(inhibitor.stdout.readline(), 'begun\n')
        self.use(False)
        self.look_again()
        until(self.heard, 'uasd reads it again')
        self.stays()
        inhibitor.communicate('\n')
        self.driver_is('uas')
        self.assertEqual(self.hooks()[:1], ['works release 2-1:1.0 sdz'])

    def test_other_direction(self):
        "Not for a switch to usb-storage."
        self.hook('works', f'exec umount {self.at}')
        self.bind('uas')
        self.conf('[uasd]\nQuietSec=0\nTakeMounts=boot\nPolicy=usb-storage\n')
        self.both()
        self.stays(driver='uas')

    def test_killed(self):
        "uasd is killed after the disk was unmounted: the next one switches it and has it mounted again."
        self.hook('works', f'exec umount {self.at}')
        self.tree.write('at-sync', '')
        self.play(SWITCH.replace('\n', "\ntrap '' PIPE\n", 1))  # as uasd-switch, it goes on without uasd
        daemon = self.both()
        until(lambda: self.disk()['state'] == 'switching', 'it is being switched')
        until(lambda: len(self.children(daemon)) == 1, 'uasd waits only for uasd-switch')
        self.assertFalse(os.path.ismount(self.at))
        self.assertEqual(self.mark(), ['TAKEN_BY=works'])
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        os.unlink(self.tree.path('at-sync'))
        self.driver_is('uas')
        self.assertFalse(os.path.ismount(self.at))
        self.start_on_bus()
        until(lambda: os.path.ismount(self.at), 'it is mounted again')
        self.assertEqual(self.hooks(), ['works release 2-1:1.0 sdz', 'works mount 2-1:1.0 sdz'])

    def test_ended(self):
        "uasd ends while the disk is unmounted."
        self.hook('works', f'exec umount {self.at}')
        self.tree.write('at-sync', '')
        daemon = self.both()
        until(lambda: self.disk()['state'] == 'switching', 'it is being switched')
        daemon.terminate()
        until(lambda: os.path.ismount(self.at), 'it is mounted again')
        os.unlink(self.tree.path('at-sync'))

    def test_ended_during_release(self):
        "uasd ends while the hook unmounts the disk."
        self.tree.write('at-release', '')
        self.hook('works', f'while [ -e {self.tree.top}/at-release ]; do sleep 0.02; done; exec umount {self.at}')
        told = self.notified()
        daemon = self.start_daemon()
        self.assertIn('READY=1', told())
        until(self.hooks, 'the hook is at work')
        daemon.terminate()
        self.assertEqual(told(), 'STOPPING=1')
        os.unlink(self.tree.path('at-release'))
        self.assertEqual(daemon.wait(patience()), 0)
        until(lambda: self.hooks()[1:] == ['works mount 2-1:1.0 sdz'] and os.path.ismount(self.at), 'it is mounted again')


class Shipped(unittest.TestCase):
    """The hook that comes with uasd, in a mount namespace, with two disks whose file systems are tmpfs."""
    PREPARE = r"""
set -eu
cd "$1"
mkdir -p block/sdy block/sdz/sdz1 run bin
mount -t tmpfs other /srv && mkdir "/srv/a b"
mount -t tmpfs sdz1 /mnt && mount -t tmpfs sdz1 "/srv/a b"
mount -t tmpfs sdy /media
stat -c %Hd:%Ld /media >block/sdy/dev
stat -c %Hd:%Ld /mnt >block/sdz/dev
stat -c %Hd:%Ld "/srv/a b" >block/sdz/sdz1/dev
printf '%s\n' "/dev/sdz1 /mnt tmpfs" 'none /srv/a\040b tmpfs' "/dev/sdy /media tmpfs" >fstab
mount --bind fstab /etc/fstab
mount --bind block /sys/class/block
mkdir -p /run/uasd && mount --bind run /run/uasd
hook() { UASD_DISKS=sdz PATH="$PWD/bin:$PATH" $SHELL_OF_HOOK "$HOOK" "$1" 2-1:1.0; }
mounted() { for at in /mnt "/srv/a b" /media; do mountpoint -q "$at" && echo "$at" || true; done | tr '\n' ,; }
tool() { printf '#!/bin/sh\necho "$@" >>%s/tools\n%s\n' "$PWD" "$2" >"bin/$1"; chmod +x "bin/$1"; }
"""
    # Scripts play block and uci of OpenWrt. Here uci has each line of the file "uci".
    OPENWRT = r"""
echo >fstab
cat >bin/uci <<END
#!/bin/sh
case \$2 in
show) cat "$PWD/uci" ;;
get) grep -F "\$3=" "$PWD/uci" | cut -d "'" -f 2 | grep . ;;
esac
END
chmod +x bin/uci
section() { printf "fstab.%s=mount\\nfstab.%s.target='%s'\\n" "$1" "$1" "$2" >>uci; }
global() { printf "fstab.@global[0]=global\\nfstab.@global[0].anon_mount='%s'\\n" "$1" >uci; }
global 0
section '@mount[0]' "/srv/a b"
section usb /mnt/
tool block 'mount -t tmpfs sdz1 /mnt; mount -t tmpfs sdz1 "/srv/a b"'
"""

    def hook(self, script):
        """stdout of the script, which is the same in each shell."""
        outputs = set()
        for shell in ('sh', 'busybox sh') if shutil.which('busybox') else ('sh',):
            with tempfile.TemporaryDirectory() as folder:
                env = dict(os.environ, SHELL_OF_HOOK=shell, HOOK=os.path.join(TOP, 'packaging/release.d/mounts'))
                p = subprocess.run(['unshare', '--mount', 'sh', '-c', self.PREPARE + script, 'sh', folder], text=True, capture_output=True, env=env)
                self.assertEqual(p.returncode, 0, (p.stdout, p.stderr))
                outputs.add(p.stdout)
        self.assertEqual(len(outputs), 1, outputs)
        return outputs.pop()

    def test_fstab(self):
        "A blank in a name. Another disk stays."
        self.assertEqual(self.hook('hook release; mounted; echo; hook mount; mounted; ls run'), '/media,\n/mnt,/srv/a b,/media,')

    def test_busy(self):
        "One of the two is busy: both are there as before."
        self.assertEqual(self.hook('exec 9>/mnt/open; hook release 2>&1 >/dev/null | grep -o busy; mounted; ls run'),
                         'busy\n/mnt,/srv/a b,/media,')

    def test_not_in_fstab(self):
        "What somebody mounted by hand stays."
        self.assertEqual(self.hook('grep -v 040 fstab >x; cat x >fstab; hook release || echo no; mounted; ls run'), 'no\n/mnt,/srv/a b,/media,')

    def test_comment(self):
        "A line of fstab that is a comment mounts nothing."
        self.assertEqual(self.hook('sed "s,^.*/mnt,#&," fstab >x; cat x >fstab; hook release || echo no; mounted; ls run'), 'no\n/mnt,/srv/a b,/media,')

    def test_partly_mounted(self):
        "Another program has mounted one of the two meanwhile."
        self.assertEqual(self.hook('hook release; mount -t tmpfs sdz1 /mnt; hook mount; mounted; ls run'), '/mnt,/srv/a b,/media,')

    def test_not_mounted(self):
        self.assertEqual(self.hook('umount "/srv/a b" /mnt; hook release || echo no; ls run'), 'no\n')

    def test_dsm(self):
        "The mount table counts, and not what the tool of DSM says."
        unmounts = 'tool synousbdisk \'case $1 in -umount) umount "/srv/a b" /mnt;; esac\'; '
        self.assertEqual(self.hook(unmounts + 'hook release && hook mount; cat tools'), '-umount sdz\n-mount sdz\n')
        self.assertEqual(self.hook('tool synousbdisk true; hook release || echo no; cat tools'), 'no\n-umount sdz\n-mount sdz\n')

    def test_openwrt(self):
        "What `block mount` has mounted is there again, and only what is missing counts."
        self.assertEqual(self.hook(self.OPENWRT + 'hook release; mounted; hook mount; mounted; cat tools; ls run'), '/media,/mnt,/srv/a b,/media,mount\n')

    def test_openwrt_mounts_it_elsewhere(self):
        "The exit status of `block mount` is 0 also if it has mounted nothing."
        for mounts in ('true', 'mount -t tmpfs sdz1 /mnt'):
            with self.subTest(mounts=mounts):
                self.assertEqual(self.hook(self.OPENWRT + f'tool block "{mounts}"; hook release; hook mount || echo no; ls run'), 'no\n')

    def test_openwrt_by_hand(self):
        "A mount that uci does not have, or that is not enabled there, stays. uci is asked, and not fstab."
        for uci in ('global 0; section usb /mnt', 'global 0; section usb /mnt; section usc /mnt2',
                    "section usc /m; echo \"fstab.usb.enabled='0'\" >>uci", 'rm bin/uci; hash -r', 'global 1; section usb /mnt'):
            with self.subTest(uci=uci):
                fstab = 'printf "x /mnt tmpfs\\nx /srv/a\\\\040b tmpfs\\n" >fstab; '
                self.assertEqual(self.hook(self.OPENWRT + fstab + uci + '; hook release || echo no; mounted; ls; ls run'),
                                 'no\n/mnt,/srv/a b,/media,bin\nblock\nfstab\nrun\nuci\n')

    def test_openwrt_without_a_section(self):
        "With anon_mount OpenWrt mounts each disk to a folder with its name."
        at_name = """umount "/srv/a b" /mnt; mount -t tmpfs other /mnt; mkdir /mnt/sdz1; mount -t tmpfs sdz1 /mnt/sdz1
            echo 0:0 >block/sdz/dev; stat -c %Hd:%Ld /mnt/sdz1 >block/sdz/sdz1/dev; """
        block = 'tool block "mount -t tmpfs sdz1 /mnt/sdz1"; there() { mountpoint -q /mnt/sdz1 && echo yes; }; '
        for anon, expected in ('1', 'no\nyes\nmount\n'), ('0', 'refused\nyes\nyes\n'):
            with self.subTest(anon=anon):
                script = 'hook release || echo refused; there || echo no; hook mount; there; cat tools 2>/dev/null || true; ls run'
                self.assertEqual(self.hook(self.OPENWRT + at_name + block + f'global {anon}; ' + script), expected)


if __name__ == '__main__':
    main(needs_root='it mounts')
