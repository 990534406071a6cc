"""Where people keep secrets and toolchains: what a box shows of a home folder, and what it never shows.

Lists only. Paths begin at the home folder unless they begin with a slash.
"""


def _below(lines: str) -> "tuple[str, ...]":
    """Return the paths of lines such as `.cargo: bin registry`, or of plain words."""
    found: list[str] = []
    for line in lines.strip().splitlines():
        folder, colon, names = line.partition(":")
        words = (names if colon else line).split()
        found.extend(f"{folder.strip()}/{word}" if colon else word for word in words)
    return tuple(found)


SHOWN = (
    *_below(
        """
.pyenv .nvm .rustup .asdf .sdkman .rbenv .rvm .nodenv .goenv .gvm .jenv .fnm .volta .plenv .phpenv .phpbrew
.tfenv .swiftly .juliaup .ghcup .opam .elan .proto .kerl .npm-global .npm-packages .pnpm-store .node-gyp
.linuxbrew .nix-profile .virtualenvs .venvs .venv .terminfo .fonts .wasmtime .konan .vcpkg perl5 R
miniconda3 miniconda anaconda3 anaconda miniforge3 mambaforge micromamba .micromamba fvm flutter
.cargo: bin registry git env
.dotnet: dotnet host packs sdk shared tools
.nuget: packages
go: bin pkg
.local: bin lib lib64 include opt pipx/venvs pipx/shared pipx/py
.local/share: pnpm fnm virtualenv virtualenvs gem man terminfo fonts uv/python uv/tools pipx/venvs
.local/share: pipx/shared pipx/py mise/installs mise/shims mise/plugins rtx/installs rtx/shims hatch/env
.local/share: hatch/pythons pypoetry/venv pdm/venvs
.local/state: nix/profiles cabal/store
.m2: repository wrapper
.gradle: caches wrapper jdks native
.ivy2: cache local
.sbt: boot launchers
.coursier: cache
.npm: _cacache _npx
.yarn: bin berry cache releases
.config/yarn: global
.bun: bin install
.deno: bin
.gem: ruby
.bundle: cache ruby
.composer: vendor cache
.config/composer: vendor
.cabal: bin lib packages share store
.stack: programs snapshots pantry indices compiler-tools setup-exe-cache
.mix: archives elixir escripts
.hex: packages
.pub-cache: bin git global_packages hosted
.julia: artifacts clones compiled environments juliaup packages registries
.conda: envs pkgs
.pixi: bin envs
.rye: py shims tools uv self
.luarocks: bin lib share
.wasmer: bin lib
.foundry: bin
.platformio: packages platforms penv
.conan: data
.conan2: p
Android: Sdk
.cache: pip uv go-build pypoetry pre-commit yarn pnpm node node-gyp ms-playwright puppeteer Cypress electron
.cache: bazel bazelisk ccache sccache zig hatch typescript golangci-lint coursier composer deno fontconfig
.cache: torch huggingface/hub
"""
    ),
    "/home/linuxbrew/.linuxbrew",
)
"""Toolchains and caches of languages and packages: what builds and tests live by."""

TEXTS = _below(
    """
.gitconfig .gitignore .gitignore_global .gitattributes .gitmessage .inputrc .editorconfig .clang-format
.rustfmt.toml .tool-versions .python-version .node-version .nvmrc .ruby-version .java-version .go-version
.sdkmanrc
.config/git: config ignore attributes
.config/mise: config.toml settings.toml
.config/go: env
.cargo: config config.toml
"""
)
"""Plain configuration, of which a box has a copy without the lines that look like secrets."""

_SYSTEM = _below(
    """
/etc: shadow shadow- gshadow gshadow- sudoers sudoers.d ssl/private pki/tls/private krb5.keytab wireguard
/etc: openvpn kubernetes rancher letsencrypt NetworkManager/system-connections ppp mysql/debian.cnf
/etc: security docker/key.json exim4/passwd.client ipsec.secrets msmtprc postfix/sasl_passwd
/etc: ssh/ssh_host_rsa_key ssh/ssh_host_ecdsa_key ssh/ssh_host_ed25519_key ssh/ssh_host_dsa_key
/run: user secrets credentials cloud-init
/var/lib: tailscale cloud kubelet docker containers rancher sss samba/private NetworkManager bluetooth iwd
/var/spool: cron mail
/var: mail backups
"""
)

_CONDA = "miniconda3 miniconda anaconda3 anaconda miniforge3 mambaforge micromamba .micromamba .conda".split()
"""Where conda is installed, or keeps its environments."""

_HOME = _below(
    """
.ssh .aws .azure .gnupg .kube .git-credentials .netrc _netrc .pypirc .vault-token .password-store .npmrc
.yarnrc .yarnrc.yml .bunfig.toml .condarc .gemrc .pip .pgpass .my.cnf .mylogin.cnf .mongorc.js .s3cfg .boto
.oci .aliyun .tccli .bluemix .fly .railway .vercel .netlify .wrangler .supabase .pulumi .terraformrc
.terraform.d .docker .minikube .cloudflared .ngrok2 .age .ansible .vault_pass .vault_pass.txt .chef .step
.wireguard .openvpn .android .mitmproxy .bitcoin .ethereum .electrum .pki .ollama .mozilla .thunderbird
.librewolf .mutt .muttrc .msmtprc .mbsyncrc .offlineimaprc .fetchmailrc .authinfo .authinfo.gpg .lastpass
.lpass .Xauthority .ICEauthority .dbus .psql_history .mysql_history .rediscli_history .sqlite_history
.bash_history .zsh_history .zhistory .sh_history .history .python_history .node_repl_history .irb_history
.lesshst .viminfo .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv
.zprofile .zlogin .envrc .env .secrets .claude.json .aider.conf.yml .huggingface .kaggle .modal.toml
.wakatime.cfg .hgrc .subversion .travis .circleci .sentryclirc .filezilla .smbcredentials .vnc
.agent-exec-token .netrc.gpg .amp .factory .copilot .solana
.nuget: NuGet
.hex: hex.config
.ivy2: .credentials
.sbt: .credentials
.cabal: config
.pub-cache: credentials.json
.cargo: credentials credentials.toml
.gem: credentials
.local/share: gem/credentials keyrings kwalletd atuin fish opencode goose TelegramDesktop mkcert rbw gopass
.local/share: uv/credentials agent-exec
.bundle: config
.m2: settings.xml settings-security.xml
.gradle: gradle.properties init.gradle
.composer: auth.json
.conan: remotes.json
.julia: servers
.rvm: user
.dotnet/corefx: cryptography
.wasmer: wasmer.toml
.luarocks: upload_config.lua
.foundry: keystores
.cache/huggingface: token stored_tokens
.claude: .credentials.json projects history.jsonl settings.json
.codex: auth.json history.jsonl sessions config.toml
.gemini: oauth_creds.json google_accounts.json settings.json
.cursor: mcp.json
.continue: config.json config.yaml
.config: gh glab-cli gcloud op hub tea doctl hcloud scw openstack stripe configstore rclone terraform helm
.config: containers argocd heroku netlify vercel pip pypoetry uv git/credentials sops age syncthing pulse
.config: environment.d github-copilot agent-exec google-chrome chromium BraveSoftware microsoft-edge vivaldi
.config: opera Slack discord Signal Element Code Cursor VSCodium JetBrains zed goose opencode amp crush
.config: io.datasette.llm remmina filezilla Postman Insomnia 1Password Bitwarden keepassxc rbw gopass
.config: composer/auth.json NuGet fish atuin mutt jira sentry snyk kaggle wandb solana nuget Yubico
.config: mise/secrets
.local/state: agent-exec
.npm-global: etc/npmrc
.npm-packages: etc/npmrc
.venv: pip.conf
"""
) + tuple(
    f"{folder}/{name}" for folder in _CONDA for name in ".condarc condarc condarc.d .mambarc pip.conf".split()
)

STARRED = frozenset(
    f"~/{path}"
    for path in (
        *(
            f"{where}/etc/npmrc"
            for where in (
                ".nvm/versions/node/* .nodenv/versions/* .asdf/installs/nodejs/* .volta/tools/image/node/*"
                " .local/share/mise/installs/node/* .fnm/node-versions/*/installation"
                " .local/share/fnm/node-versions/*/installation"
            ).split()
        ),
        *(
            f"{where}/pip.conf"
            for where in (
                ".virtualenvs/* .venvs/* .pyenv/versions/* .local/share/virtualenvs/* .local/share/uv/tools/*"
                " .local/share/pipx/venvs/* .local/pipx/venvs/* .cache/pypoetry/virtualenvs/*"
                " .local/share/pdm/venvs/* .local/share/hatch/env/virtual/*/*/*"
            ).split()
        ),
        *(f"{where}/envs/*/.condarc" for where in _CONDA),
    )
)
"""Settings of each toolchain or environment in a folder of them, which may hold tokens of registries."""

SECRETS = tuple(dict.fromkeys((*(f"~/{path}" for path in _HOME), *sorted(STARRED), *_SYSTEM)))
"""What opens other doors: never shown, whatever else is."""
