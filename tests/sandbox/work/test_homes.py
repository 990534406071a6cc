"""What commands see of home folders: toolchains and what the profile names, and no secret, whatever the host does."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine
from agent_exec.sandbox.profile import Profile
from sandbox.work.boxes import (
    BECOME_NOBODY,
    GIT,
    ORDINARY,
    SOURCE,
    folder_elsewhere,
    give,
    interpreter,
    need,
)

SECRETS = """
.npmrc .yarnrc.yml .bunfig.toml .cargo/credentials .cargo/credentials.toml .gem/credentials .bundle/config
.config/pip/pip.conf .pip/pip.conf .config/pypoetry/auth.toml .config/uv/uv.toml .local/share/uv/credentials/c .condarc
.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config .composer/auth.json
.config/composer/auth.json .hex/hex.config .sbt/.credentials .sbt/1.0/credentials.sbt .ivy2/.credentials .cabal/config
.pub-cache/credentials.json .pgpass .my.cnf .mylogin.cnf .mongorc.js .config/rclone/rclone.conf .s3cfg .boto .psql_history
.mysql_history .rediscli_history .sqlite_history .oci/config .oci/key.pem .config/doctl/config.yaml .config/hcloud/cli.toml
.config/scw/config.yaml .aliyun/config.json .tccli/default.credential .bluemix/config.json .config/openstack/clouds.yaml
.fly/config.yml .railway/config.json .local/share/com.vercel.cli/auth.json .config/netlify/config.json .netrc
.config/heroku/token .wrangler/config/default.toml .supabase/access-token .config/stripe/config.toml
.config/configstore/firebase-tools.json .pulumi/credentials.json .terraformrc .terraform.d/credentials.tfrc.json
.config/terraform/x .config/helm/registry/config.json .config/containers/auth.json .docker/config.json .docker/contexts/x
.minikube/profiles/client.key .config/argocd/config .cloudflared/cert.pem .ngrok2/ngrok.yml .config/ngrok/ngrok.yml
.config/sops/age/keys.txt .age/key .config/age/key .ansible/vault .vault_pass .chef/user.pem .step/secrets/x .wireguard/wg0.conf
.openvpn/x.ovpn .android/adbkey .local/share/mkcert/rootCA-key.pem .mitmproxy/mitmproxy-ca.pem .config/syncthing/key.pem
.bitcoin/wallet.dat .ethereum/keystore/x .config/solana/id.json .electrum/wallets/w .foundry/keystores/x .pki/nssdb/key4.db
.ollama/id_ed25519 .config/google-chrome/Default/Cookies .config/chromium/Default/Login_Data .config/BraveSoftware/x/Cookies
.config/microsoft-edge/Default/Cookies .config/vivaldi/Default/Cookies .config/opera/Cookies .mozilla/firefox/p/logins.json
snap/firefox/common/.mozilla/firefox/p/key4.db .var/app/org.mozilla.firefox/.mozilla/firefox/p/key4.db .librewolf/p/key4.db
.thunderbird/p/logins.json .config/Slack/Cookies .config/discord/Cookies .config/Signal/config.json
.local/share/TelegramDesktop/tdata/key_datas .config/teams/Cookies .config/Element/config.json .mutt/muttrc .muttrc .msmtprc
.mbsyncrc .authinfo .authinfo.gpg .config/1Password/1password.sqlite .config/Bitwarden/data.json .config/Bitwarden_CLI/data.json
.config/keepassxc/keepassxc.ini Passwords.kdbx Documents/Passwords.kdbx .config/rbw/config.json .config/gopass/config
.password-store/x.gpg .lastpass/key .lpass/key .local/share/kwalletd/kdewallet.kwl .local/share/keyrings/login.keyring
.Xauthority .ICEauthority .dbus/session-bus/x .config/pulse/cookie .bash_history .zsh_history .local/share/fish/fish_history
.python_history .node_repl_history .irb_history .local/share/atuin/history.db .local/share/atuin/key .lesshst .viminfo
.local/state/agent-exec/history .bashrc .profile .bash_profile .zshrc .zshenv .config/environment.d/x.conf .envrc .env .secrets
.claude.json .claude/projects/p/x.jsonl .claude/history.jsonl .claude/.credentials.json .claude/settings.json .codex/auth.json
.codex/history.jsonl .codex/sessions/x .codex/config.toml .gemini/oauth_creds.json .gemini/google_accounts.json
.config/github-copilot/hosts.json .copilot/config.json .cursor/mcp.json .config/Cursor/User/globalStorage/state.vscdb
.config/Code/User/globalStorage/state.vscdb .config/VSCodium/User/globalStorage/state.vscdb .vscode-server/data/x
.config/zed/settings.json .config/JetBrains/x/c.kdbx .continue/config.json .aider.conf.yml .config/goose/config.yaml
.local/share/opencode/auth.json .qwen/oauth_creds.json .config/amp/settings.json .config/crush/crush.json
.local/share/amazon-q/data.sqlite3 .factory/auth.json .codeium/config.json .codeium/windsurf/mcp_config.json
.config/io.datasette.llm/keys.json .huggingface/token .cache/huggingface/token .cache/huggingface/stored_tokens
.kaggle/kaggle.json .config/wandb/settings .modal.toml .config/hub .config/tea/config.yml .config/jira/x .sentryclirc
.config/snyk/x .circleci/cli.yml .travis/config.yml .subversion/auth/svn.simple/x .hgrc .config/remmina/x .vnc/passwd
.config/filezilla/sitemanager.xml .filezilla/x .smbcredentials .config/Postman/x .config/Insomnia/x projects/a/.env
projects/a/.env.local projects/a/config/master.key projects/a/service-account.json projects/a/terraform.tfstate
projects/a/.git/config .agent-exec-token .config/agent-exec/rules.toml .local/share/agent-exec/jobs/x/stdout.log .ssh/id_rsa
.ssh/config .aws/credentials .azure/msal_token_cache.json .gnupg/private-keys-v1.d/x .kube/config .config/gh/hosts.yml
.config/glab-cli/config.yml .config/gcloud/credentials.db .config/op/config .config/git/credentials .git-credentials .pypirc
.vault-token .julia/servers/x/auth.toml miniconda3/.condarc .dotnet/corefx/cryptography/x509stores/my/x go/src/x/.env
.wasmer/wasmer.toml .luarocks/upload_config.lua .conan/remotes.json .npm/_logs/x.log .conda/.condarc .unheard-of/token
.local/share/gem/credentials .npm-global/etc/npmrc .nvm/versions/node/v20/etc/npmrc .asdf/installs/nodejs/20/etc/npmrc
.volta/tools/image/node/20/etc/npmrc .local/share/fnm/node-versions/v20/installation/etc/npmrc
.local/share/mise/installs/node/20/etc/npmrc .venv/pip.conf .virtualenvs/a/pip.conf .pyenv/versions/3.12/pip.conf
.local/share/uv/tools/a/pip.conf .local/share/pipx/venvs/a/pip.conf .cache/pypoetry/virtualenvs/a/pip.conf
miniconda3/condarc miniconda3/condarc.d/a.yml miniconda3/envs/a/.condarc micromamba/.mambarc
""".split()
"""Where people keep secrets, relative to the home folder."""

KEPT = ".pyenv/version .pyenv/versions/3.12/bin/x .nvm/versions/node/v20/bin/x .cargo/registry/x .m2/repository/x miniconda3/bin/x .nvm/x .cache/pip/x go/pkg/mod/x".split()


@pytest.fixture(params=("ours", "nobody")[: 1 + ORDINARY])
def nobody(request: pytest.FixtureRequest) -> bool:
    """True if another user than we runs the commands."""
    return bool(request.param == "nobody")


class House:
    """A home with a workspace in it, and who lives there."""

    def __init__(self, home: Path, site: Path | None) -> None:
        self.home = home
        self.root = home / "work"
        self.root.mkdir(parents=True)
        self.site = site

    def put(self, name: str, text: str = "CANARY\n", mode: int = 0o644) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def run(self, line: str, path: str = "", extra: dict[str, str] | None = None, **fields: object) -> str:
        """Return what a shell line prints in a box, its complaints too."""
        if self.site is not None:
            give(self.home)
        profile = {"roots": [str(self.root)], **fields}
        code = (
            f"import json, sys; sys.path.insert(0, {str(self.site or SOURCE)!r}); import agent_exec as a\n"
            "p = a.Profile.from_json(json.loads(sys.argv[1]))\n"
            "o = a.run(['sh', '-c', sys.argv[2]], cwd=p.roots[0], sandbox=p, timeout=60)\n"
            "print(o.stdout_text + o.stderr_text, end='')"
        )
        python = sys.executable if self.site is None else interpreter(nobody=True)
        out = subprocess.run(
            [
                *(() if self.site is None else BECOME_NOBODY),
                *(python, "-IS", "-c", code, json.dumps(profile), line),
            ],
            cwd="/",
            env={
                "PATH": f"{path}:/usr/local/bin:/usr/bin:/bin".strip(":"),
                "HOME": str(self.home),
                "AGENT_EXEC_TEST": os.environ["AGENT_EXEC_TEST"],
                **(extra or {}),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert out.returncode == 0, out.stderr
        return out.stdout


@pytest.fixture
def house(nobody: bool, boxes: None, request: pytest.FixtureRequest) -> Iterator[House]:
    """A home of either user, that no private /tmp hides."""
    site = request.getfixturevalue("site") if nobody else None
    with folder_elsewhere() as folder:
        folder.chmod(0o755)
        yield House(folder / "home", site)


def test_no_secret_of_a_home_can_be_read(house: House) -> None:
    for name in (*SECRETS, *KEPT):
        house.put(name)
    told = house.run("cd ~ && grep -rl CANARY . | sort")
    assert told.split() == sorted(f"./{name}" for name in KEPT)
    opened = house.run(
        f"cd ~; for one in {' '.join(SECRETS)}; do cat $one 2>/dev/null; done; ls -a ~ | grep ssh"
    )
    assert opened == ""


def test_the_old_way_hides_what_is_known(house: House) -> None:
    for name in (".ssh/id_rsa", ".npmrc", ".config/gh/hosts.yml", "notes", ".config/plain"):
        house.put(name)
    told = house.run("cd ~ && grep -rl CANARY . | sort", secrets="deny-list")
    assert told.split() == ["./.config/plain", "./notes"]


@pytest.mark.parametrize("secrets", ["allow-list", "deny-list"])
def test_a_secret_that_the_host_replaces_or_makes_is_never_seen(
    boxes: None, monkeypatch: pytest.MonkeyPatch, secrets: str
) -> None:
    with folder_elsewhere() as folder:
        house = House(folder / "home", None)
        monkeypatch.setenv("HOME", str(house.home))
        names = (
            ".claude/.credentials.json",
            "miniconda3/.condarc",
            ".npmrc",
            ".pypirc",
            ".cargo/credentials.toml",
        )
        for name in names[:3]:
            house.put(name, "old CANARY")
        house.put("miniconda3/bin/conda", "here")
        house.put(".cargo/bin/cargo", "here")
        polled = " ".join(f"~/{name}" for name in names)
        line = (
            f"cat ~/miniconda3/bin/conda; echo; until [ -e go ]; do cat {polled} 2>/dev/null; done; echo end"
        )
        profile = Profile("workspace-write", [str(house.root)], secrets=secrets)
        with Engine() as engine:
            run = engine.start(Command(["sh", "-c", line], cwd=str(house.root)), sandbox=profile)
            for number in range(100):
                for name in names:
                    new = house.put(f"{name}.new", f"CANARY {number}")
                    new.rename(house.home / name)
            (house.root / "go").touch()
            out = run.outcome()
        assert (out.exit_code, out.stdout_text.split()) == (0, ["here", "end"])


def _script(text: str) -> str:
    return f"#!/bin/sh\n{text}\n"


def test_toolchains_in_the_home_work(house: House) -> None:
    home = house.home
    house.put(".pyenv/versions/3.12/bin/pytool", _script("echo pyenv"), 0o755)
    house.put(".pyenv/shims/pytool", _script(f"exec {home}/.pyenv/versions/3.12/bin/pytool"), 0o755)
    house.put(".nvm/versions/node/v20/lib/tool.js", _script("echo nvm"), 0o755)
    (home / ".nvm/versions/node/v20/bin").mkdir()
    (home / ".nvm/versions/node/v20/bin/nodetool").symlink_to("../lib/tool.js")
    house.put(".rustup/toolchains/stable/bin/rusttool", _script("echo rustup $CARGO_HOME"), 0o755)
    house.put(".cargo/bin/rusttool", _script('exec "$RUSTUP_HOME/toolchains/stable/bin/rusttool"'), 0o755)
    house.put(".local/share/uv/tools/x/bin/uvtool", _script("echo uv"), 0o755)
    (home / ".local/bin").mkdir()
    (home / ".local/bin/uvtool").symlink_to(home / ".local/share/uv/tools/x/bin/uvtool")
    house.put(".sdkman/candidates/java/17/bin/javatool", _script("echo sdkman"), 0o755)
    (home / ".sdkman/candidates/java/current").symlink_to("17")
    house.put("bin/mine", _script("echo mine"), 0o755)
    house.put("elsewhere/linked/bin/far", _script("echo far"), 0o755)
    (home / "current").symlink_to("elsewhere/linked")
    folders = (".pyenv/shims", ".nvm/versions/node/v20/bin", ".cargo/bin", ".local/bin", "bin", "current/bin")
    path = ":".join(f"{home}/{folder}" for folder in (*folders, ".sdkman/candidates/java/current/bin"))
    told = house.run(
        "pytool; nodetool; rusttool; uvtool; javatool; mine; far; ls ~/elsewhere/linked",
        path,
        {"RUSTUP_HOME": f"{home}/.rustup", "CARGO_HOME": f"{home}/.cargo"},
    )
    assert told.split() == [
        *("pyenv", "nvm", "rustup", f"{home}/.cargo", "uv", "sdkman", "mine", "far", "bin"),
    ]


def test_a_link_out_of_the_home_to_a_toolchain(house: House) -> None:
    real = house.home.parent / "big" / "pyenv"
    (real / "bin").mkdir(parents=True)
    (real / "bin" / "tool").write_text(_script("echo linked"))
    (real / "bin" / "tool").chmod(0o755)
    if house.site is not None:
        give(house.home.parent / "big")
    (house.home / ".pyenv").symlink_to(real)
    assert house.run("~/.pyenv/bin/tool; readlink ~/.pyenv") == f"linked\n{real}\n"


def test_what_a_profile_shows_has_no_secrets_either(house: House) -> None:
    for name in (".foo/a", ".foo/b/c", ".foo/b/key", "bar/x"):
        house.put(name, f"{name}\n")
    line = "cd ~; cat .foo/a .foo/b/c; cat .foo/b/key bar/x; echo x > .foo/a"
    told = house.run(line, show=["~/.foo"], deny_read=["~/.foo/b/key"])
    assert told.splitlines()[:2] == [".foo/a", ".foo/b/c"]
    assert told.count("No such file") == 2
    assert told.count("Read-only file system") == 1
    with pytest.raises(AssertionError, match="whole home"):
        house.run("true", show=[str(house.home)])


def test_a_copy_of_plain_configuration(house: House) -> None:
    house.put(
        ".gitconfig",
        "[user]\n\tname = Me\n\tsigningkey = ABC\n[http]\n\textraheader = Authorization: x\n"
        '[url "https://me:CANARY@host/"]\n\tinsteadOf = CANARY:\n[github]\n\tpat = CANARY\n[alias]\n\tst = status\n'
        '[http]\n\tproxy = me:CANARY@host:3128\n[alias]\n\tx = "!curl -H ghp_0123456789CANARY0123 y"\n'
        '[a]\n\ttoken = """\nCANARY\n"""\n\turl = git@host:x\n',
    )
    told = house.run("cat ~/.gitconfig")
    assert told.splitlines() == [
        "[user]",
        "\tname = Me",
        "\tsigningkey = ABC",
        "[http]",
        "[github]",
        "[alias]",
        "\tst = status",
        *("[http]", "[alias]", "[a]", "\turl = git@host:x"),
    ]


def test_an_environment_that_comes_is_looked_into(boxes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pattern stands for is looked for again when a folder on its way has changed."""
    with folder_elsewhere() as folder:
        house = House(folder / "home", None)
        monkeypatch.setenv("HOME", str(house.home))
        profile = Profile("workspace-write", [str(house.root)])
        for name in ("a", "b"):
            house.put(f".virtualenvs/{name}/bin/x")
            house.put(f".virtualenvs/{name}/pip.conf")
            words = ["grep", "-rl", "CANARY", str(house.home)]
            out = agent_exec.run(words, cwd=str(house.root), sandbox=profile)
            assert not [path for path in out.stdout_text.split() if "pip.conf" in path], name
            assert f"{house.home}/.virtualenvs/{name}/bin/x" in out.stdout_text.split()


def test_a_worktree_and_a_part_of_a_repository(house: House) -> None:
    need("git")
    big, other = house.home / "big", house.home / "other"

    def git(*words: object) -> None:
        subprocess.run(["git", *map(str, words)], check=True, capture_output=True, env={**os.environ, **GIT})

    for folder in (big, other):
        git("init", "-q", folder)
        (folder / "part").mkdir()
        (folder / "part" / "f").write_text("x")
        git("-C", folder, "add", ".")
        git("-C", folder, "commit", "-qm", "first")
    (big / "settings").write_text("shared\n")
    shutil.rmtree(house.root)
    git("-C", big, "worktree", "add", house.root, "-b", "side")
    told = house.run("git log --format=%s; ls ~", extra={"GIT_CONFIG_NOSYSTEM": "1"})
    assert told == "first\nbig\nwork\n"
    house.root = big / "part"
    assert house.run("git log --format=%s; cat ../settings; ls ~") == "first\nshared\nbig\n"
    house.root = house.home / "mine"
    house.root.mkdir()
    (house.root / ".git").write_text(f"gitdir: {other}/.git\n")
    assert house.run("ls ~; ls -d ~/other 2>/dev/null") == "mine\n", (
        "a pointer that nobody answers shows nothing"
    )


def test_homes_of_others_and_what_is_the_system_s(house: House) -> None:
    told = house.run(
        "cat /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- 2>/dev/null; ls -A /etc/ssl/private"
    )
    assert "root:" not in told
    assert house.run("ls -A /home; ls /etc/passwd /etc/ssl/certs >/dev/null && echo yes") == "yes\n"
    if house.site is None:  # the home that the system knows of us, whatever HOME says
        assert ".bashrc" not in house.run("ls -A /root 2>&1")


def test_what_is_hidden_in_a_root_cannot_be_opened(house: House) -> None:
    for name in ("a.env", "b/c.env", "b/d"):
        house.put(f"work/{name}")
    told = house.run("cat a.env b/c.env; cat b/d; echo x > a.env", deny_read=["**/*.env"])
    assert told.count("Permission denied") + told.count("cannot create") >= 3
    assert told.count("CANARY") == 1


def test_more_protected_paths_than_descriptors(boxes: None, room: object) -> None:
    with folder_elsewhere() as root:
        for number in range(1200):
            (root / f"d{number}" / ".git").mkdir(parents=True)
        code = (
            f"import resource, sys; sys.path.insert(0, {SOURCE!r}); import agent_exec as a\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))\n"
            "p = a.Profile('workspace-write', [sys.argv[1]])\n"
            "line = 'touch d7/.git/x || echo kept; touch d8/x; ls d8'\n"
            "print(a.run(['sh', '-c', line], cwd=sys.argv[1], sandbox=p, timeout=60).stdout_text)"
        )
        out = subprocess.run(
            [sys.executable, "-IS", "-c", code, root], capture_output=True, text=True, check=False
        )
        assert out.stdout.split() == ["kept", "x"], out.stderr


def test_variables_that_are_inherited_and_that_are_given(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    inherited = {"SOME_NAME": "CANARY", "GITHUB_PAT": "CANARY", "JAVA_HOME": "/java", "LC_TIME": "C"}
    told = house.run("env", extra=inherited)
    assert "CANARY" not in told
    assert {"JAVA_HOME=/java", "LC_TIME=C"} <= set(told.splitlines())
    assert "SOME_NAME=CANARY" in house.run("env", extra=inherited, secrets="deny-list")
    assert "GITHUB_PAT" not in house.run("env", extra=inherited, secrets="deny-list")
    assert "SOME_NAME=CANARY" in house.run("env", extra=inherited, env=["SOME_NAME"])
    if house.site is None:
        monkeypatch.setenv("SOME_NAME", "CANARY")
        profile = Profile("read-only", [str(house.root)])
        env = {**os.environ, "FOR_THIS": "given", "MYSQL_PWD": "CANARY"}
        out = agent_exec.run(["env"], cwd=str(house.root), env=env, sandbox=profile)
        assert "FOR_THIS=given" in out.stdout_text
        assert "CANARY" not in out.stdout_text
