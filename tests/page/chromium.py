"""Drives Chromium over a pipe with its DevTools protocol; nothing but Python's standard library and the browser."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --hide-scrollbars "
         "--remote-debugging-pipe").split()


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Closed(Exception):
    """The browser has ended, or did not answer in time."""


class Browser:
    """One browser process with its own empty profile. Use as a context."""

    def __init__(self, path=None, seconds=60):
        self.folder = tempfile.TemporaryDirectory(prefix="whywait-page-")
        self.seconds, self.number, self.events, self.rest = seconds, 0, [], b""
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def descriptors():  # the protocol is on 3 and 4
            os.dup2(to_read, 200), os.dup2(to_write, 201)
            os.dup2(200, 3), os.dup2(201, 4)

        self.process = subprocess.Popen([path or find(), *FLAGS, f"--user-data-dir={self.folder.name}", "about:blank"],
                                        preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.folder.name))
        os.close(to_read)
        os.close(to_write)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (Closed, subprocess.TimeoutExpired, OSError):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        for _ in range(20):  # its helpers may still be writing there
            try:
                self.folder.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def read(self, until):
        """The next message; events are kept."""
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise Closed("the browser did not answer in time")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise Closed("the browser ended")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **parameters):
        """Calls a method and returns its result."""
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.seconds
        while True:
            answer = self.read(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait_for(self, method, session):
        """Waits for an event of a page."""
        until = time.monotonic() + self.seconds
        while True:
            for event in self.events:
                if event["method"] == method and event.get("sessionId") == session:
                    self.events.remove(event)
                    return event["params"]
            answer = self.read(until)
            if "method" in answer:
                self.events.append(answer)

    def page(self, **settings):
        return Page(self, **settings)


class Page:
    """A tab of its own. `dark`, `width`, `height`, `script` (False: JavaScript is off), `media` ("print")."""

    def __init__(self, browser, dark=False, width=1280, height=900, script=True, media="", scale=1):
        self.browser = browser
        context = browser.send("Target.createBrowserContext")["browserContextId"]
        self.context = context
        target = browser.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.emulate(dark, media)
        if not script:
            self.send("Emulation.setScriptExecutionDisabled", value=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)

    def send(self, method, **parameters):
        return self.browser.send(method, session=self.session, **parameters)

    def emulate(self, dark=False, media=""):
        self.send("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, fragment=""):
        self.url = pathlib.Path(path).resolve().as_uri() + fragment
        self.send("Page.navigate", url=self.url)
        self.browser.wait_for("Page.loadEventFired", self.session)
        return self

    def run(self, expression):
        """The value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description', answer['exceptionDetails']['text'])}")
        return answer["result"].get("value")

    def key(self, name, shift=False):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32, "End": 35, "Home": 36}
        text = {"Enter": "\r", " ": " "}.get(name)
        key = {"key": name, "code": "Space" if name == " " else name, "windowsVirtualKeyCode": codes[name], "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **key, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **key)

    def click(self, selector):
        """Clicks the middle of an element, or of its first line, with the mouse. A busy browser may hit what was there before it
        scrolled: then the click is made again, five times in all."""
        for _ in range(5):
            box = self.run(f"(async()=>{{const e=document.querySelector({json.dumps(selector)});if(!e)return null;e.scrollIntoView({{block:'center'}});"
                           "await new Promise(done=>{setTimeout(done,2000);requestAnimationFrame(()=>requestAnimationFrame(done))});"
                           "window.hit=new Promise(done=>{const see=c=>done(e.contains(c.target));setTimeout(done,2000,false);"
                           "document.addEventListener('click',see,{capture:true,once:true})});"
                           "const b=e.getClientRects()[0]||e.getBoundingClientRect();return [b.x+b.width/2,b.y+b.height/2]})()")
            if box is None:
                raise RuntimeError(f"{selector} does not exist")
            self.mouse("mouseMoved", *box)
            self.mouse("mousePressed", *box, button="left", clickCount=1)
            self.mouse("mouseReleased", *box, button="left", clickCount=1)
            if self.run("window.hit"):
                return
        raise RuntimeError(f"{selector} is not hit by clicks on it")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def problems(self):
        """Console errors, exceptions, and requests for anything but the page itself."""
        self.run("0")
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            what, data = event["method"], event["params"]
            if what == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(data["exceptionDetails"])[:400])
            elif what == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
                found.append(f"{data['entry']['level']}: {data['entry']['text']}")
            elif what == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
                found.append("console: " + json.dumps(data["args"])[:400])
            elif what == "Network.requestWillBeSent":
                url = data["request"]["url"]
                if url.split("#")[0] != self.url.split("#")[0] and not url.startswith("data:"):
                    found.append("request: " + url[:200])
        return found

    def screenshot(self, path, selector=None, full=False):
        options = {}
        if selector or full:
            box = self.run("(()=>{const r=" + (f"document.querySelector({json.dumps(selector)})" if selector else "document.documentElement") +
                           ".getBoundingClientRect();return [r.x+scrollX,r.y+scrollY,r.width,r.height]})()")
            options = {"clip": {"x": max(0, box[0] - 8), "y": max(0, box[1] - 8), "width": box[2] + 16, "height": min(box[3] + 16, 12000), "scale": 1},
                       "captureBeyondViewport": True}
        data = self.send("Page.captureScreenshot", format="png", **options)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
