"""A page in a browser without a window, spoken to through its debugging pipe: nothing but Debian's chromium is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp()
        from_us, self.out = os.pipe()
        self.back, to_us = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash", program, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--window-size=1600,1200", f"--user-data-dir={self.folder}", "--remote-debugging-pipe",
             "about:blank"],
            pass_fds=(from_us, to_us), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.calls, self.unread, self.exceptions, self.events, self.session = 0, b"", [], [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.calls:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            if answer.get("method") == "Runtime.exceptionThrown":
                self.exceptions.append(answer["params"]["exceptionDetails"])
            elif "method" in answer:
                self.events.append(answer)

    def read(self):
        while b"\0" not in self.unread:
            more = os.read(self.back, 1 << 16)
            assert more, "the browser has ended"
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def value_of(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, **parameters):
        return base64.b64decode(self.call("Page.captureScreenshot", **parameters)["data"])
