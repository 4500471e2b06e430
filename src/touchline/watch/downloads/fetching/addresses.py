"""Which addresses are public: reached by strangers' links. Pure.

Invariant: an address that carries another one inside is judged by that too; what is in doubt is not public.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

# By name, because what Python counts as global changed between its releases.
PRIVATE_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers, and the metadata of one cloud
            "127.0.0.0/8",
            "168.63.129.16/32",  # answers on machines of one cloud, though it looks public
            "169.254.0.0/16",  # the metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
PUBLIC_6 = IPv6Network("2000::/3")  # the only part that is given out
PRIVATE_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4: whoever relays it would choose the way
            "2620:4f:8000::/48",
            "3fff::/20",
            "5f00::/16",
        ),
    )
)
MAPPED = IPv6Network("::ffff:0:0/96")
TRANSLATED = IPv6Network("64:ff9b::/96")  # how networks without IPv4 reach it
ISATAP = (0x00005EFE, 0x02005EFE)  # in the upper half of an interface's id, an IPv4 address in the lower


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in PRIVATE_4)
    if address.scope_id is not None:
        return False
    if address in MAPPED or address in TRANSLATED:
        return is_public(_last_32_bits(address))
    if address not in PUBLIC_6 or not address.is_global or any(address in network for network in PRIVATE_6):
        return False
    return (int(address) >> 32) & 0xFFFFFFFF not in ISATAP


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def parse(text: str) -> Address | None:
    """Only what is written in the usual way: no short forms, no octal or hexadecimal numbers."""
    try:
        return ip_address(text)
    except ValueError:
        return None
