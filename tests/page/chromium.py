# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium, controlled by the DevTools protocol over a WebSocket."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../ctl'))
from patience import patience, until  # noqa: E402

PROGRAM = shutil.which('chromium')
TEXT, CLOSE = 1, 8


class WebSocket:
    """The client's side of RFC 6455, as far as Chromium uses it."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(('127.0.0.1', port), patience(30))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                             f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n').encode())
        self.stream = self.socket.makefile('rb')
        assert b' 101 ' in self.stream.readline()
        while self.stream.readline().strip():
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        if len(data) < 126:
            length = bytes([0x80 | len(data)])
        elif len(data) < 1 << 16:
            length = b'\xfe' + struct.pack('>H', len(data))
        else:
            length = b'\xff' + struct.pack('>Q', len(data))
        masked = (int.from_bytes(data, 'big') ^ int.from_bytes((mask * (len(data) // 4 + 1))[:len(data)], 'big')).to_bytes(len(data), 'big')
        self.socket.sendall(bytes([0x80 | TEXT]) + length + mask + masked)

    def receive(self):
        """The next message, or None at the end."""
        text = b''
        while True:
            head = self.stream.read(2)
            if len(head) < 2 or head[0] & 15 == CLOSE:
                return None
            n = head[1] & 127
            if n > 125:
                n = int.from_bytes(self.stream.read(2 if n == 126 else 8), 'big')
            text += self.stream.read(n)
            if head[0] & 0x80:
                return text.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Refused(Exception):
    """JavaScript has thrown, or Chromium refuses a command."""


class Tab:
    """A page. `frame` selects the page inside cockpit's shell by the end of its address; "": the outermost one."""

    def __init__(self, browser, path):
        self.browser, self.socket = browser, WebSocket(browser.port, path)
        self.number, self.frame = 0, ''
        self.contexts = {}  # id: address
        self.problems = []  # errors of the console and of the page, with those of the CSP
        for domain in 'Page', 'Runtime', 'Log', 'Accessibility', 'DOM':
            self.call(domain + '.enable')

    def take(self, message):
        params = message.get('params', {})
        match message.get('method'):
            case 'Runtime.executionContextCreated':
                one = params['context']
                if one['auxData'].get('isDefault'):
                    self.contexts[one['id']] = one['auxData']['frameId']
            case 'Runtime.executionContextDestroyed':
                self.contexts.pop(params['executionContextId'], None)
            case 'Runtime.executionContextsCleared':
                self.contexts.clear()
            case 'Runtime.exceptionThrown':
                self.problems.append(json.dumps(params['exceptionDetails'])[:800])
            case 'Runtime.consoleAPICalled' if params['type'] in ('error', 'assert'):
                self.problems.append(json.dumps([one.get('value', one.get('description')) for one in params['args']])[:800])
            case 'Log.entryAdded' if params['entry']['level'] == 'error':
                self.problems.append('{text} {url}'.format(**{'url': '', **params['entry']}))

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({'id': self.number, 'method': method, 'params': params}))
        while True:
            text = self.socket.receive()
            if text is None:
                raise Refused('Chromium has ended')
            message = json.loads(text)
            if message.get('id') == self.number:
                if 'error' in message:
                    raise Refused(f'{method}: {message["error"]}')
                return message['result']
            self.take(message)

    def frames(self):
        found = []

        def collect(tree):
            found.append(tree['frame'])
            for child in tree.get('childFrames', []):
                collect(child)
        collect(self.call('Page.getFrameTree')['frameTree'])
        return found

    def frame_id(self):
        own = [one['id'] for one in self.frames() if self.frame in one['url']]
        if not own:
            raise Refused(f'no frame {self.frame}')
        return own[-1] if self.frame else own[0]

    def run(self, script):
        """The value of an expression in the frame, which may be a promise."""
        own = self.frame_id()
        context = [number for number, frame in self.contexts.items() if frame == own]
        if not context:
            raise Refused('no context yet')
        result = self.call('Runtime.evaluate', expression=script, contextId=context[-1], returnByValue=True, awaitPromise=True,
                           userGesture=True)
        if 'exceptionDetails' in result:
            raise Refused(json.dumps(result['exceptionDetails'])[:800])
        return result['result'].get('value')

    def holds(self, script):
        try:
            return self.run(script)
        except Refused:
            return None

    def until(self, script, what, seconds=20):
        """Waits until an expression is true. Returns its value."""
        try:
            until(lambda: self.holds(f'Boolean({script})'), what, seconds)
        except AssertionError as error:
            raise AssertionError(f'{error}\n{self.holds("document.body.innerText")}\n{self.problems}') from None
        return self.run(script)

    def open(self, address):
        self.call('Page.navigate', url=address)

    def text(self):
        return self.holds('document.body.innerText') or ''

    def shows(self, text, seconds=20):
        self.until(f'document.body.innerText.includes({json.dumps(text)})', f'the page shows {text!r}', seconds)

    def press(self, key, *modifiers):
        """A key, to the focus."""
        code = {'Tab': 9, 'Enter': 13, 'Escape': 27, ' ': 32}[key]
        more = {'text': '\r'} if key == 'Enter' else {'text': ' '} if key == ' ' else {}
        mask = 8 if 'Shift' in modifiers else 0
        for kind in 'keyDown', 'keyUp':
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code='Space' if key == ' ' else key, windowsVirtualKeyCode=code,
                      modifiers=mask, **more if kind == 'keyDown' else {})

    def click(self, selector):
        self.until(f'(() => {{ const one = document.querySelector({json.dumps(selector)}); return one && !one.disabled; }})()', f'{selector} is there')
        self.run(f'document.querySelector({json.dumps(selector)}).focus()')
        self.run(f'document.querySelector({json.dumps(selector)}).click()')

    def size(self, width, height=900):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        """A picture of the tab, as PNG."""
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def tree(self):
        """The accessibility tree: [(role, name)] of what is not ignored."""
        nodes = self.call('Accessibility.getFullAXTree', frameId=self.frame_id())['nodes']
        return [(one['role']['value'], one.get('name', {}).get('value', '')) for one in nodes if not one['ignored']]

    def close(self):
        self.call('Page.close')
        self.socket.close()

    def cookie(self, name, value, address):
        self.call('Network.setCookie', name=name, value=value, url=address)


class Chromium:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        arguments = ['--headless=new', '--remote-debugging-port=0', '--user-data-dir=' + self.folder, '--no-first-run', '--disable-gpu',
                     '--no-sandbox', '--hide-scrollbars', '--force-color-profile=srgb', '--font-render-hinting=none', '--disable-lcd-text',
                     '--disable-background-networking', '--disable-component-update', '--disable-sync', '--lang=en-US', 'about:blank']
        self.process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, TZ='UTC', HOME=self.folder))
        told = os.path.join(self.folder, 'DevToolsActivePort')
        until(lambda: os.path.exists(told) and os.path.getsize(told) or self.process.poll() is not None, 'Chromium has started', 60)
        with open(told) as file:
            self.port = int(file.readline())

    def tab(self):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/json/new?about:blank', method='PUT')
        with urllib.request.urlopen(request, timeout=patience(60)) as answer:
            address = json.load(answer)['webSocketDebuggerUrl']
        return Tab(self, '/' + address.split('/', 3)[3])

    def close(self):
        self.process.terminate()
        self.process.wait()

        def removed():
            shutil.rmtree(self.folder, ignore_errors=True)
            return not os.path.exists(self.folder)
        until(removed, 'its children have ended')
