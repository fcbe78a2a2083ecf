# SPDX-License-Identifier: LGPL-2.1-or-later
"""python3 -m usbdisk --socket PATH --control PATH --config JSON-or-@file"""

import argparse
import asyncio
import contextlib
import json
import os
import signal

from .control import Control
from .device import Device
from .usbredir import Connection


def arguments():
    parser = argparse.ArgumentParser(prog="usbdisk", description="An emulated USB disk for QEMU's usb-redir.")
    parser.add_argument("--socket", required=True, help="unix socket for QEMU's chardev")
    parser.add_argument("--control", required=True, help="unix socket for JSON requests")
    parser.add_argument("--config", default="{}", help="JSON, or @FILE")
    return parser.parse_args()


async def serve(args):
    text = args.config
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    device = Device(json.loads(text))
    control = Control(device)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, control.stopped.set)
    for path in (args.socket, args.control):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    qemu = await loop.create_unix_server(lambda: Connection(device), args.socket)
    # the control socket comes last: once it is there, all is
    clients = await asyncio.start_unix_server(control.client, args.control)
    await control.stopped.wait()
    clients.close()
    qemu.close()
    for path in (args.socket, args.control):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


if __name__ == "__main__":
    asyncio.run(serve(arguments()))
