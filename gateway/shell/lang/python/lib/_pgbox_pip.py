"""pip, as far as there is something to install: wheels without C extensions that are files of the sandbox."""
import os
import sys

VERSION = "pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python 3.12)"
USAGE = """
Usage:
  pip <command> [options]

Commands:
  install    Install packages from wheels: files of the sandbox.
  uninstall  Uninstall packages.
  freeze     Output installed packages in requirements format.
  list       List installed packages.
  show       Show information about installed packages.
"""


class Refused(Exception):
    pass


def site_packages():
    import site
    return site.getusersitepackages()


def canonical(name):
    import re
    return re.sub(r"[-_.]+", "-", name).lower()


def installed():
    from importlib import metadata
    found = {}
    for d in metadata.distributions():
        found.setdefault(canonical(d.metadata["Name"]), d)
    return dict(sorted(found.items()))


def wheel_name(path):
    """Name and version of a wheel that runs here."""
    parts = os.path.basename(path)[:-len(".whl")].split("-")
    if len(parts) not in (5, 6):
        raise Refused("%s is not a valid wheel filename." % os.path.basename(path))
    pythons, abis, platforms = (p.split(".") for p in parts[-3:])
    if "none" not in abis or "any" not in platforms or not any(p in ("py3", "cp312", "py312") for p in pythons):
        raise Refused("%s is not a supported wheel on this platform: this Python has no C extensions." % os.path.basename(path))
    return parts[0], parts[1]


def place(target, name):
    """The path of a member below a directory."""
    path = os.path.normpath(os.path.join(target, name))
    if os.path.isabs(name) or not path.startswith(os.path.normpath(target) + "/"):
        raise Refused("%s is not below the directory to install to." % name)
    return path


def remove(dist):
    directories, top = set(), os.path.normpath(str(dist.locate_file("")))
    for f in dist.files or []:
        path = str(dist.locate_file(f))
        try:
            os.remove(path)
        except OSError:
            continue
        directories.add(os.path.dirname(path))
    for d in sorted(directories, key=len, reverse=True):
        while d.startswith(top + "/") and not os.listdir(d):
            os.rmdir(d)
            d = os.path.dirname(d)


def install_wheel(path, target, scripts):
    import zipfile
    name, version = wheel_name(path)
    lines, files, entry = [], [], ""
    with zipfile.ZipFile(path) as z:
        info = [n for n in z.namelist() if n.endswith(".dist-info/WHEEL")]
        if not info:
            raise Refused("%s has no .dist-info directory." % os.path.basename(path))
        info = os.path.dirname(info[0])
        for n in z.namelist():
            if n.endswith("/"):
                continue
            base, to = target, n
            first, _, rest = n.partition("/")
            if first.endswith(".data"):
                scheme, _, to = rest.partition("/")
                if scheme == "scripts":
                    base = scripts
                elif scheme not in ("purelib", "platlib"):
                    base = os.path.dirname(os.path.dirname(os.path.dirname(target)))
            files.append((n, base, place(base, to)))
        for n, base, file in files:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with z.open(n) as source, open(file, "wb") as f:
                data = source.read()
                if base == scripts and data.startswith(b"#!python"):
                    data = b"#!/usr/bin/env python3" + data[data.index(b"\n"):]
                f.write(data)
            if base == scripts:
                os.chmod(file, 0o755)
            if n == info + "/entry_points.txt":
                entry = data.decode()
            if n != info + "/RECORD":
                lines.append(os.path.relpath(file, target))
    for command, module, attribute in console_scripts(entry):
        file = place(scripts, command)
        os.makedirs(scripts, exist_ok=True)
        with open(file, "w") as f:
            f.write("#!/usr/bin/env python3\nimport sys\nfrom %s import %s\nsys.exit(%s())\n" % (module, attribute.partition(".")[0], attribute))
        os.chmod(file, 0o755)
        lines.append(os.path.relpath(file, target))
    with open(os.path.join(target, info, "INSTALLER"), "w") as f:
        f.write("pip\n")
    lines += [info + "/INSTALLER", info + "/RECORD"]
    with open(os.path.join(target, info, "RECORD"), "w") as f:
        f.writelines(line + ",,\n" for line in lines)
    return "%s-%s" % (name, version)


def console_scripts(text):
    import configparser
    c = configparser.ConfigParser(delimiters="=", interpolation=None)
    c.optionxform = str
    c.read_string(text)
    if c.has_section("console_scripts"):
        for command, value in c.items("console_scripts"):
            module, _, attribute = value.partition("[")[0].strip().partition(":")
            yield command, module, attribute


def wanted(args):
    """Options and operands of install."""
    target, quiet, again, names = None, False, False, []
    args = list(args)
    while args:
        a = args.pop(0)
        if a in ("-t", "--target", "-r", "--requirement", "-f", "--find-links", "-i", "--index-url", "-c", "--constraint") and not args:
            raise Refused("%s expected 1 argument" % a)
        if a in ("-t", "--target"):
            target = args.pop(0)
        elif a.startswith("--target="):
            target = a[len("--target="):]
        elif a in ("-r", "--requirement"):
            file = args.pop(0)
            with open(file) as f:
                names += [line.split("#")[0].strip() for line in f if line.split("#")[0].strip()]
        elif a in ("-f", "--find-links", "-i", "--index-url", "-c", "--constraint"):
            args.pop(0)
        elif a in ("-q", "--quiet"):
            quiet = True
        elif a == "--force-reinstall":
            again = True
        elif not a.startswith("-"):
            names.append(a)
    return target, quiet, again, names


def install(args):
    target, quiet, again, names = wanted(args)
    if not names:
        raise Refused('You must give at least one requirement to install (see "pip help install")')
    have, done = installed(), []
    for name in names:
        plain = name[len("file://"):] if name.startswith("file://") else name
        if plain.endswith(".whl"):
            if not os.path.exists(plain):
                raise Refused("%s is not a file of the sandbox." % name)
            quiet or print("Processing %s" % plain)
            old = have.get(canonical(wheel_name(plain)[0]))
            if target is None and old is not None:
                if old.version == wheel_name(plain)[1] and not again:
                    quiet or print("%s is already installed with the same version as the provided wheel." % old.metadata["Name"])
                    continue
                remove(old)
            to = os.path.abspath(target) if target else site_packages()
            os.makedirs(to, exist_ok=True)
            done.append(install_wheel(plain, to, os.path.expanduser("~/.local/bin") if target is None else os.path.join(to, "bin")))
            continue
        if os.path.exists(plain):
            raise Refused("%s is not a wheel: nothing is built here." % plain)
        import re
        bare = re.split(r"[\[<>=!~; ]", name)[0]
        if canonical(bare) in have:
            quiet or print("Requirement already satisfied: %s in %s (%s)" % (name, have[canonical(bare)].locate_file(""), have[canonical(bare)].version))
            continue
        raise Refused("Could not find a version that satisfies the requirement %s (from versions: none)\n"
                      "ERROR: No matching distribution found for %s: there is no network; wheels that are files of the sandbox can be installed" % (name, bare))
    if done and not quiet:
        print("Installing collected packages: %s\nSuccessfully installed %s" % (", ".join(d.partition("-")[0] for d in done), " ".join(done)))


def uninstall(args):
    have = installed()
    for name in args:
        if name.startswith("-"):
            continue
        d = have.get(canonical(name))
        if d is None:
            print("WARNING: Skipping %s as it is not installed." % name, file=sys.stderr)
            continue
        known = (d.metadata["Name"], d.version)
        print("Found existing installation: %s %s" % known)
        remove(d)
        print("  Successfully uninstalled %s-%s" % known)


def show(args):
    have, found = installed(), False
    for name in args:
        d = have.get(canonical(name))
        if d is None:
            print("WARNING: Package(s) not found: %s" % name, file=sys.stderr)
            continue
        found = True
        m = d.metadata
        for field, value in (("Name", m["Name"]), ("Version", d.version), ("Summary", m["Summary"]), ("Home-page", m["Home-page"]), ("Author", m["Author"]),
                             ("License", m["License"]), ("Location", str(d.locate_file(""))),
                             ("Requires", ", ".join(r.partition(";")[0].strip() for r in d.requires or [] if "extra" not in r))):
            print("%s: %s" % (field, value or ""))
    if not found:
        sys.exit(1)


def listed(args):
    rows = [(d.metadata["Name"], d.version) for d in installed().values()]
    if not rows:
        return
    width = max(len("Package"), *(len(n) for n, _ in rows))
    last = max(len("Version"), *(len(v) for _, v in rows))
    print("%-*s Version\n%s %s" % (width, "Package", "-" * width, "-" * last))
    for n, v in rows:
        print("%-*s %s" % (width, n, v))


def freeze(args):
    for d in installed().values():
        print("%s==%s" % (d.metadata["Name"], d.version))


def main(args):
    if not args or args[0] in ("help", "-h", "--help"):
        print(USAGE.strip("\n"))
        return
    if args[0] in ("-V", "--version"):
        print(VERSION)
        return
    run = {"install": install, "uninstall": uninstall, "list": listed, "freeze": freeze, "show": show}.get(args[0])
    try:
        if run is None:
            raise Refused('unknown command "%s": there are install, uninstall, freeze, list and show' % args[0])
        run(args[1:])
    except (Refused, OSError) as e:
        print("ERROR: %s" % e, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
