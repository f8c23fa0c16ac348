# Run by the interpreter before a program: puts back what the system below it has no call for.
import os
import sys


def _start():
    home = "/.pgbox/python"
    import _pgbox
    _pgbox.install()
    import _posixsubprocess  # not found later
    sys.meta_path.insert(0, _pgbox.Finder())
    sys.path[:] = [p for p in sys.path if p != home]
    rest = os.environ.get("PYTHONPATH", "").split(":")[1:]
    if rest:
        os.environ["PYTHONPATH"] = ":".join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)
    name = os.environ.pop("PGBOX_ARGV0", None)
    if name is not None:
        sys.argv[0] = name
    sys.executable = sys._base_executable = "/usr/bin/python3"
    cwd = os.environ.get("PWD")
    if cwd:
        os.chdir(cwd)
    import site
    base = os.path.join(os.path.expanduser("~"), ".local")
    site.USER_BASE, site.USER_SITE = base, base + "/lib/python3.12/site-packages"
    if os.environ.pop("PGBOX_NOUSER", None) is None:
        site.ENABLE_USER_SITE = True
        if os.path.isdir(site.USER_SITE):
            site.addsitedir(site.USER_SITE)


_start()
del _start
