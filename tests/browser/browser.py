# tests/browser/browser.py — A headless Chromium, spoken to over two pipes; standard library only.
# No port is opened, so that tests may run side by side.
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def program():
    """Where a Chromium is, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One tab. Errors that the page prints or throws are kept in `errors`."""

    def __init__(self, width=1440, height=1000, dark=False, server=None):
        """`server`: the address whose pages may ask it; every other request is an error."""
        self.home = tempfile.mkdtemp(prefix="deadrank-browser-")
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        self.errors = []
        self.allowed = ("file:", "data:", "about:", "blob:") + ((server,) if server else ())
        self.number = 0
        self.waiting = b""

        def at_3_and_4():
            os.dup2(to_read, 200)
            os.dup2(back_write, 201)
            os.dup2(200, 3)
            os.dup2(201, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={self.home}", "about:blank"],
            preexec_fn=at_3_and_4, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one for one in targets if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.back)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def next_message(self, seconds=120):
        end = time.monotonic() + seconds
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            block = os.read(self.back, 1 << 20) if ready else b""
            if not block:
                silent = f"the browser said nothing for {seconds} s"
                raise RuntimeError("the browser ended" if ready else silent)
            self.waiting += block
        line, self.waiting = self.waiting.split(b"\0", 1)
        message = json.loads(line)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            words = (str(one.get("value", one.get("description"))) for one in parameters["args"])
            self.errors.append(" ".join(words))
        if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        if method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(self.allowed):
                self.errors.append(f"the page asked the network for {url}")

    def open(self, path, place=""):
        self.visit("file://" + os.path.abspath(path) + place)

    def visit(self, url):
        self.call("Page.navigate", url=url)
        while self.next_message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def until(self, expression, seconds=60):
        """Waits until an expression holds; false if it never does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate(f"Boolean({expression})"):
                return True
            time.sleep(0.05)
        return False

    def type(self, selector, text):
        """Into a field, in place of what it holds, as a person who then leaves it."""
        self.evaluate("(() => { const one = document.querySelector(%s); one.focus(); one.value = %s;"
                      "one.dispatchEvent(new Event('input', {bubbles: true}));"
                      "one.dispatchEvent(new Event('change', {bubbles: true})) })()"
                      % (json.dumps(selector), json.dumps(text)))
        self.settle()

    def settle(self):
        """Until the page has drawn what it was asked to."""
        self.evaluate("new Promise(done => requestAnimationFrame(() =>"
                      " requestAnimationFrame(() => done(1))))")

    def drag(self, x, y, to_x):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for step in range(1, 6):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + (to_x - x) * step / 5, y=y,
                      button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=y, button="left", clickCount=1)
        self.settle()

    def point(self, x, y, click=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click(self, selector):
        """Where a reader would click: the middle of the element, after it was brought into sight."""
        x, y = self.evaluate(
            "(() => { const one = document.querySelector(%s); one.scrollIntoView({block: 'center'});"
            "const box = one.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2] })()"
            % json.dumps(selector))
        self.point(x, y, click=True)
        self.settle()

    def key(self, key):
        text = key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def shot(self, path, whole=False, of=None):
        """Of the viewport, the whole page, or the first element that a selector finds."""
        part = {}
        if whole:
            self.evaluate("scrollTo(0, 0)")  # else what sticks to the top hides the middle
            self.settle()
        if of:
            x, y, width, height = self.evaluate(
                "(() => { const box = document.querySelector(%s).getBoundingClientRect();"
                "return [box.x + scrollX, box.y + scrollY, box.width, box.height] })()" % json.dumps(of))
            part = {"clip": {"x": x, "y": y, "width": width, "height": height, "scale": 1}}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole or bool(of), **part)
        with open(path, "wb") as out:
            out.write(base64.b64decode(picture["data"]))


class Check:
    """What is wrong with a page, in sentences."""

    def __init__(self, page):
        self.page = page
        self.complaints = []

    def that(self, holds, words):
        if not holds:
            self.complaints.append(words)

    def value(self, expression):
        return self.page.evaluate(expression)

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
