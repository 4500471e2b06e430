"""URLs that are written to reach what is not public, or to mean one thing to a checker and another to a client.

Collected from how addresses can be spelled (inet_aton, RFC 4291, RFC 6052, WHATWG), from where clouds keep their
secrets, and from where parsers disagree. Each must be refused as it stands.
"""

# ruff: noqa: RUF001, S104 - letters that look like others, and addresses that mean all, are the tricks

from __future__ import annotations

LOOPBACK = [
    "http://127.0.0.1/", "http://127.0.0.1:80/", "https://127.0.0.1/", "http://127.0.0.2/", "http://127.1.2.3/",
    "http://127.255.255.254/", "http://127.0.0.1:443/v.mp4", "http://127.0.0.1?x", "http://127.0.0.1#x",
    "http://0.0.0.0/", "http://0.0.0.0:80/", "http://0.1.2.3/", "http://localhost/", "http://LOCALHOST/",
    "http://LocalHost/", "http://localhost:80/", "http://localhost./", "http://localhost.localdomain/",
    "http://a.localhost/", "http://a.b.localhost/", "http://ip6-localhost/", "http://ip6-loopback/",
    "http://loopback/", "http://[::1]/", "http://[::1]:80/", "http://[0:0:0:0:0:0:0:1]/", "http://[0::1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/", "http://[::]/", "http://[0::0]/", "http://[::]:80/v.mp4",
]  # fmt: skip
SPELLINGS = [
    "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://017700000001/", "http://0x7f000001/",
    "http://0x7F000001/", "http://0x7f.1/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0.0.1/", "http://0177.0.0.01/",
    "http://00000177.0.0.1/", "http://127.0.0.01/", "http://127.00.0.1/", "http://127.000.000.001/",
    "http://0x7f.0.0.1/", "http://127.0x0.0.1/", "http://127.0.0.0x1/", "http://127.0.00000.1/", "http://0/",
    "http://00/", "http://0x0/", "http://0x/", "http://4294967295/", "http://4294967296/", "http://3232235521/",
    "http://0xc0a80001/", "http://030052000001/", "http://192.168.1/", "http://192.168.257/", "http://10.1/",
    "http://10.65793/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/",
    "http://025177524776/", "http://169.254.43518/", "http://169.16689662/", "http://0xa9.0xfe.0xa9.0xfe/",
    "http://127.0.0.1./", "http://127.0.0.1../", "http://127.1./", "http://127.0.0.1.0x0/", "http://256.256.256.256/",
    "http://1.2.3/", "http://1.2.3.4.5/", "http://0x7f000001./", "http://example.0x7f/", "http://example.1/",
    "http://example.com.0/", "http://1e3/", "http://+127.0.0.1/", "http://-127.0.0.1/", "http://127.0.0.1-/",
]  # fmt: skip
PRIVATE = [
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/",
    "http://192.168.0.1/", "http://192.168.255.255/", "http://100.64.0.1/", "http://100.127.255.255/",
    "http://169.254.0.1/", "http://192.0.0.1/", "http://192.0.0.8/", "http://192.0.0.170/", "http://192.0.2.1/",
    "http://192.88.99.1/", "http://198.18.0.1/", "http://198.19.255.255/", "http://198.51.100.1/",
    "http://203.0.113.1/", "http://224.0.0.1/", "http://239.255.255.250/", "http://240.0.0.1/",
    "http://255.255.255.255/", "http://192.31.196.1/", "http://192.52.193.1/", "http://192.175.48.1/",
]  # fmt: skip
METADATA = [
    "http://169.254.169.254/", "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://169.254.169.254/computeMetadata/v1/", "http://169.254.169.254/metadata/instance?api-version=2021-02-01",
    "http://169.254.170.2/v2/credentials/", "http://169.254.169.123/", "http://169.254.0.23/",
    "http://100.100.100.200/latest/meta-data/", "http://168.63.129.16/", "http://192.0.0.192/latest/",
    "http://metadata/", "http://metadata.google.internal/computeMetadata/v1/", "http://metadata.internal/",
    "http://instance-data/latest/meta-data/", "http://kubernetes/", "http://kubernetes.default.svc.cluster.local/",
    "http://[fd00:ec2::254]/latest/meta-data/", "http://[fd20:ce::254]/", "http://[fe80::a9fe:a9fe]/",
]  # fmt: skip
SIX = [
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::FFFF:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:10.0.0.1]/", "http://[::ffff:192.168.1.1]/", "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/", "http://[::7f00:1]/", "http://[::a9fe:a9fe]/", "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::127.0.0.1]/", "http://[64:ff9b:1::8.8.8.8]/", "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::]/", "http://[2002:c0a8:1::1]/", "http://[2002:808:808::1]/",
    "http://[2001:0:7f00:1::]/", "http://[2001::1]/", "http://[2001:db8::1]/", "http://[2001:10::1]/",
    "http://[2001:20::1]/", "http://[3fff::1]/", "http://[5f00::1]/", "http://[fc00::1]/", "http://[fd12:3456::1]/",
    "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1%25lo]/",
    "http://[::1%lo]/", "http://[2606:4700::1%25eth0]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[ff0e::1]/",
    "http://[100::1]/", "http://[2606:4700::5efe:127.0.0.1]/", "http://[2606:4700::5efe:7f00:1]/",
    "http://[2606:4700::200:5efe:10.0.0.1]/", "http://[v1.127.0.0.1]/", "http://[127.0.0.1]/", "http://[localhost]/",
    "http://[::1/", "http://::1/", "http://::1]/", "http://[]/", "http://[[::1]]/", "http://[::1].example.com/",
    "http://[::1]example.com/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[:::1]/", "http://[::1]@example.com/",
]  # fmt: skip
USERS = [
    "http://user@example.com/", "http://user:secret@example.com/", "http://:@example.com/", "http://@example.com/",
    "http://example.com@127.0.0.1/", "http://example.com:80@127.0.0.1/", "http://127.0.0.1@example.com/",
    "http://example.com%40127.0.0.1/", "http://a@b@127.0.0.1/", "http://a@b@example.com/",
    "http://example.com:@127.0.0.1:80/", "http://video.twimg.com@169.254.169.254/", "http://user@[::1]/",
    "http://example.com%00@127.0.0.1/", "https://video.twimg.com:443@10.0.0.1/v.mp4", "http://;@127.0.0.1/",
    "http://x:y@localhost/", "http://example.com&@127.0.0.1/", "http://example.com=@127.0.0.1/",
]  # fmt: skip
DISAGREEMENTS = [
    "http://example.com\\@127.0.0.1/", "http://127.0.0.1\\@example.com/", "http:\\\\127.0.0.1\\",
    "http:/\\127.0.0.1/", "http:\\/127.0.0.1/", "\\\\127.0.0.1\\", "http://example.com\\.127.0.0.1/",
    "http://example.com#@127.0.0.1/", "http://127.0.0.1#@example.com/", "http://example.com?@127.0.0.1/",
    "http://127.0.0.1?@example.com/", "http://example.com;127.0.0.1/", "http://example.com,127.0.0.1/",
    "http://example.com 127.0.0.1/", " http://127.0.0.1/", "http://127.0.0.1/ ", "\thttp://127.0.0.1/",
    "http://127.0.0.1/\n", "ht\ntp://127.0.0.1/", "http://127.0.\t0.1/", "http://exa\tmple.com/",
    "http://example.com\r\nHost: localhost/", "http://example.com/\r\nX: y", "http://example.com/%0d%0a /",
    "http://example.com\x00.127.0.0.1/", "http://127.0.0.1%00.example.com/", "http://example.com%2f@127.0.0.1/",
    "http://%31%32%37.0.0.1/", "http://127%2e0%2e0%2e1/", "http://%6c%6f%63alhost/", "http://example%2ecom/",
    "http:///127.0.0.1/", "http:////127.0.0.1/", "http:127.0.0.1/", "http:/127.0.0.1/", "//127.0.0.1/",
    "///127.0.0.1/", "127.0.0.1/", "127.0.0.1:80/", "http://", "http:///", "http://:80/", "http://./", "http://../",
    "http://.example.com/", "http://example..com/", "http://example.com./", "http://-example.com/",
    "http://example-.com/", "http://example.com:/", "http://example.com:80:80/", "http://example.com:80a/",
    "http://example.com:+80/", "http://example.com:-1/", "http://example.com:0x50/", "http://example.com:99999/",
    "http://example.com:65616/", "http://example.com:８０/", "http://example.com:80%00/", "", " ", "/", "?", "#",
    "http://example.com/a b", "http://example.com/a\tb", "http://example.com/\\..\\", "http://example.com/<script>",
    "http://example.com/é", "http://example.com/\u202e", "http://example.com/" + "a" * 2100,
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/",
]  # fmt: skip
LETTERS = [
    "http://①②⑦.⓪.⓪.①/", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://127．0．0．1/", "http://127｡0｡0｡1/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://ｌｏｃａｌｈｏｓｔ/", "http://loc\u00adalhost/", "http://local\u200bhost/", "http://localhoſt/",
    "http://lOcalhosT。/", "http://ex\u0430mple.com/", "http://exámple.com/", "http://example.com\uff0f@127.0.0.1/",
    "http://example.com\uff03@127.0.0.1/", "http://example.com\u2100127.0.0.1/", "http://example．com/",
    "http://ß.com/", "http://example.com\u3000/", "http://\u0967\u0968\u096d.0.0.1/", "http://127.0.0.\u0661/",
    "http\uff1a//127.0.0.1/", "ｈttp://127.0.0.1/",
]  # fmt: skip
SCHEMES = [
    "file:///etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd", "file:/etc/passwd",
    "gopher://127.0.0.1:6379/_INFO", "ftp://example.com/v.mp4", "ftps://example.com/", "sftp://example.com/",
    "dict://127.0.0.1:11211/stats", "ldap://127.0.0.1/", "tftp://127.0.0.1/", "data:video/mp4;base64,AAAA",
    "javascript:alert(1)", "jar:http://127.0.0.1!/", "netdoc:///etc/passwd", "unix:/run/postgresql/.s.PGSQL.5432",
    "http+unix://%2Frun%2Fdocker.sock/", "ws://example.com/", "wss://example.com/", "blob:http://example.com/x",
    "view-source:http://example.com/", "httpx://example.com/", "http ://example.com/", "https:example.com",
    "rtmp://example.com/live", "rtsp://example.com/", "srt://example.com:9000", "concat:http://a|http://b",
    "pipe:0", "about:blank", "chrome://settings", "url:http://example.com/",
]  # fmt: skip
NAMES = [
    "http://intranet/", "http://router/", "http://db/", "http://wiki.corp/", "http://nas.local/", "http://printer.lan/",
    "http://fritz.home/", "http://host.docker.internal/", "http://gateway.docker.internal/", "http://consul.internal/",
    "http://vault.private/", "http://1.0.0.127.in-addr.arpa/", "http://router.home.arpa/", "http://ip.test/",
    "http://x.example/", "http://x.invalid/", "http://abc.onion/", "http://x.alt/", "http://server.intranet/",
]  # fmt: skip
PORTS = [
    f"http://example.com:{port}/"
    for port in (0, 1, 21, 22, 23, 25, 81, 111, 139, 445, 2375, 3306, 5432, 6379, 7233, 8080, 8333, 8443, 9200, 11211,
                 27017, 65535)
]  # fmt: skip

TRICKS = [
    *LOOPBACK, *SPELLINGS, *PRIVATE, *METADATA, *SIX, *USERS, *DISAGREEMENTS, *LETTERS, *SCHEMES, *NAMES, *PORTS,
]  # fmt: skip

# Names that anybody can register: only where they lead tells.
LEADING_INSIDE = {
    "127.0.0.1.nip.io": ["127.0.0.1"], "localtest.me": ["127.0.0.1"], "lvh.me": ["::1", "127.0.0.1"],
    "spoofed.burpcollaborator.net": ["127.0.0.1"], "metadata.nicob.net": ["169.254.169.254"],
    "mixed.net": ["93.184.215.14", "10.0.0.1"], "last.net": ["93.184.215.14", "1.1.1.1", "8.8.8.8", "9.9.9.9", "::1"],
    "mapped.net": ["::ffff:169.254.169.254"], "translated.net": ["64:ff9b::7f00:1"], "link.net": ["fe80::1"],
    "zoned.net": ["fe80::1%1"], "own.net": ["fd00::1"], "nothing.net": ["0.0.0.0"], "azure.net": ["168.63.129.16"],
    "many.net": ["224.0.0.1"], "noaddress.net": ["not an address"], "carrier.net": ["100.100.100.200"],
}  # fmt: skip
