# SPDX-License-Identifier: LGPL-2.1-or-later
"""A private D-Bus for a test."""

import os
import subprocess

CONFIG = """<busconfig>
<type>system</type><listen>{}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow send_destination="*"/><allow own="*"/><allow eavesdrop="true"/></policy>
</busconfig>"""


def address(folder):
    return f'unix:path={folder}/bus'


def start(folder):
    """Starts dbus-daemon, which listens at address(folder)."""
    config = os.path.join(folder, 'bus.conf')
    with open(config, 'w') as f:
        f.write(CONFIG.format(address(folder)))
    p = subprocess.Popen(['dbus-daemon', '--config-file', config, '--nofork', '--print-address'], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    p.stdout.readline()
    return p


def kill(p):
    p.kill()
    p.wait()
    for pipe in p.stdin, p.stdout, p.stderr:
        if pipe:
            pipe.close()
