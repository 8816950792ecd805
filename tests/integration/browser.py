# SPDX-License-Identifier: Apache-2.0
"""A real Chromium without a screen, driven by the Chrome DevTools Protocol over its pipe."""
import base64
import json
import os
import select
import shutil
import subprocess
import time

from waiting import Skip, check, equal, wait_for

# Reported by the document itself, whatever its scripts do: what its policy refused.
WATCH = '''
window.refusals = [];
document.addEventListener("securitypolicyviolation", (event) => {
    window.refusals.push(event.violatedDirective + " " + event.blockedURI);
});
'''

# Of a colour over another, WCAG 2.2: 1.4.3 wants 4.5 of text.
CONTRAST = '''(() => {
    const light = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
        .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (!/rgba\\(.*, 0\\)/.test(colour))
                return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const found = {};
    for (const element of document.querySelectorAll("h1, small, button, dt, dd, label, input, b, " +
            "select, .state, .who span, .words, output, .legend, summary, .badge")) {
        const ends = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => a - b);
        const ratio = (ends[1] + 0.05) / (ends[0] + 0.05);
        if (element.textContent && ratio < 4.5)
            found[element.tagName + "." + element.className] = ratio;
    }
    return found;
})()'''


class Browser:
    """One browser with one page; everything it says is kept: requests, errors, console."""

    def __init__(self, bench, width=1200, height=800):
        program = shutil.which('chromium')
        if not program:
            raise Skip('chromium is not installed')
        ours, theirs = os.pipe(), os.pipe()
        profile = os.path.join(bench.folder, 'profile-%d' % len(bench.processes))
        # It reads commands from descriptor 3 and answers on 4, each message ended by a NUL.
        self.process = bench.spawn(
            ['bash', '-c', 'exec "${@:3}" 3<&"$1" 4>&"$2" 2>/dev/null',
             'bash', str(ours[0]), str(theirs[1]), program, '--headless=new', '--no-sandbox',
             '--remote-debugging-pipe', '--user-data-dir=' + profile, '--no-first-run',
             '--disable-gpu', '--disable-background-networking', '--disable-breakpad',
             '--disable-component-update', '--disable-sync', '--disable-extensions',
             '--disable-dev-shm-usage', '--mute-audio', '--hide-scrollbars', 'about:blank'],
            pass_fds=[ours[0], theirs[1]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            # What it leaves there goes with the bench.
            env={**os.environ, 'TMPDIR': bench.folder})
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.of = ours[1], theirs[0]
        bench.undo.append(self.close)
        self.buffer, self.last, self.session, self.events = b'', 0, None, []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target,
                                 flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.call('Page.addScriptToEvaluateOnNewDocument', source=WATCH)
        self.size(width, height)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for fd in (self.to, self.of):
            os.close(fd)

    def _message(self, seconds):
        """The next message, or None where none came in time."""
        end = time.monotonic() + seconds
        while b'\0' not in self.buffer:
            if not select.select([self.of], [], [], max(0, end - time.monotonic()))[0]:
                return None
            piece = os.read(self.of, 1 << 20)
            check(piece, 'the browser is gone')
            self.buffer += piece
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **params):
        self.last += 1
        asked = {'id': self.last, 'method': method, 'params': params}
        if self.session:
            asked['sessionId'] = self.session
        data = json.dumps(asked).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        while True:
            message = self._message(30)
            check(message is not None, '%s: no answer', method)
            if message.get('id') == self.last:
                check('error' not in message, '%s: %s', method, message.get('error'))
                return message['result']
            if 'method' in message:
                self.events.append(message)

    def listen(self):
        """Takes in what the browser has said meanwhile."""
        while True:
            message = self._message(0)
            if message is None:
                return self.events
            self.events.append(message)

    def of_kind(self, method):
        return [event['params'] for event in self.listen() if event['method'] == method]

    # --- what tests do ---

    def size(self, width, height, phone=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)

    def media(self, **features):
        """prefers_color_scheme='dark' and the like."""
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': name.replace('_', '-'), 'value': value} for name, value in features.items()])

    def open(self, url):
        answer = self.call('Page.navigate', url=url)
        check(not answer.get('errorText'), '%s: %s', url, answer.get('errorText'))
        self.wait('document.readyState === "complete"', 'the page to be loaded')
        equal(self.js('location.href'), url, 'where the browser is')

    def js(self, source):
        """The value of an expression in the page."""
        answer = self.call('Runtime.evaluate', expression=source, returnByValue=True,
                           awaitPromise=True, allowUnsafeEvalBlockedByCSP=False)
        check('exceptionDetails' not in answer, '%s: %s', source, answer.get('exceptionDetails'))
        return answer['result'].get('value')

    def wait(self, source, what, seconds=10):
        return wait_for(lambda: self.js(source), seconds, what)

    def press(self, key, code=0):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code,
                      **({'text': '\r'} if key == 'Enter' and kind == 'keyDown' else {}))

    def click(self, selector):
        """A real click into the middle of an element."""
        x, y = self.js('(() => { const box = document.querySelector(%s).getBoundingClientRect();'
                       'return [box.x + box.width / 2, box.y + box.height / 2]; })()'
                       % json.dumps(selector))
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def unreadable(self):
        """{element: contrast} of text that is too much like what is behind it."""
        return self.js(CONTRAST)

    def screenshot(self, path):
        with open(path, 'wb') as out:
            out.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))

    def complaints(self):
        """Everything that should not be: exceptions, errors of the console, refusals."""
        return [event['exceptionDetails']['exception'].get('description')
                for event in self.of_kind('Runtime.exceptionThrown')] + [
            event['args'] for event in self.of_kind('Runtime.consoleAPICalled')
            if event['type'] in ('error', 'assert')] + [
            event['entry']['text'] for event in self.of_kind('Log.entryAdded')
            if event['entry']['level'] == 'error'] + self.js('window.refusals')

    def requests(self):
        return [event['request']['url'] for event in self.of_kind('Network.requestWillBeSent')]
