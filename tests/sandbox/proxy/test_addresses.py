"""Which addresses a name may lead to."""

from ipaddress import ip_address

import pytest

from agent_exec.sandbox.hosts import Rules
from agent_exec.sandbox.proxy import addresses
from agent_exec.sandbox.proxy.addresses import choose, is_own, lookup, refusal


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.8.8", "loopback"),
        ("::1", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("0.1.2.3", "private"),
        ("169.254.169.254", "a metadata service"),
        ("168.63.129.16", "a metadata service"),
        ("100.100.100.200", "a metadata service"),
        ("fd00:ec2::254", "a metadata service"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("fd12::1", "private"),
        ("fec0::1", "private"),
        ("100.64.0.1", "reserved"),
        ("224.0.0.1", "multicast"),
        ("239.1.1.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "private"),
        ("240.0.0.1", "private"),
        ("192.88.99.1", "a tunnel"),
        ("::ffff:10.0.0.1", "private, as 10.0.0.1 in IPv6"),
        ("::ffff:127.0.0.1", "loopback, as 127.0.0.1 in IPv6"),
        ("64:ff9b::7f00:1", "loopback, as 127.0.0.1 in IPv6"),
        ("64:ff9b::a9fe:a9fe", "a metadata service, as 169.254.169.254 in IPv6"),
        ("64:ff9b:1::7f00:1", "an IPv4 address in IPv6"),
        ("::7f00:1", "an IPv4 address in IPv6"),
        ("2002:7f00:1::", "a tunnel"),
        ("2002:808:808::", "a tunnel"),
        ("2001:0:1:2::3", "a tunnel"),
        ("2606:4700::5efe:7f00:1", "a tunnel"),
        ("2606:4700::200:5efe:7f00:1", "a tunnel"),
    ],
)
def test_refused(address: str, reason: str) -> None:
    # The standard library words some ranges differently from version to version; what matters is that there is a reason.
    assert refusal(ip_address(address)) is not None
    if reason not in {"private", "reserved"} and not address.startswith("::ffff"):
        assert refusal(ip_address(address)) == reason


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808"])
def test_the_public_internet_may_be_dialled(address: str) -> None:
    assert refusal(ip_address(address)) is None


def test_an_address_of_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("8.8.8.8"))
    monkeypatch.setattr(addresses, "is_own", lambda _: True)
    assert refusal(ip_address("8.8.8.8")) == "of this machine"


def test_refused_ones_are_left_out_and_the_order_is_kept() -> None:
    good, bad = choose(["10.0.0.1", "8.8.8.8", "fe80::1%eth0", "nonsense", "1.1.1.1"], 443, Rules(["a.com"]))
    assert [str(address) for address in good] == ["8.8.8.8", "1.1.1.1"]
    assert len(bad) == 3


def test_a_rule_for_the_very_address_and_port_lets_a_name_lead_there() -> None:
    rules = Rules(["a.com", "10.0.0.1:443"])
    assert [str(found) for found in choose(["10.0.0.1"], 443, rules)[0]] == ["10.0.0.1"]
    assert [str(found) for found in choose(["::ffff:10.0.0.1"], 443, rules)[0]] == ["10.0.0.1"]
    assert choose(["10.0.0.1"], 80, rules)[0] == []
    assert choose(["10.0.0.2"], 443, rules)[0] == []


def test_the_resolver_of_the_system() -> None:
    assert "127.0.0.1" in lookup("localhost", 80)
