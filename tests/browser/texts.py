"""Texts that a name, an output or a message may be, made to break the page that shows them."""

from __future__ import annotations

HOSTILE: dict[str, str] = {
    "script": "</script><script>globalThis.acted = 1; alert(1)</script>",
    "comment": "<!--<script>globalThis.acted=1</script>--><![CDATA[ ]]></style></title></textarea>",
    "picture": '<img src=x onerror="globalThis.acted = 1; alert(2)"><svg/onload=alert(3)>',
    "attribute": '"\' onmouseover="globalThis.acted=1" autofocus onfocus=\'alert(4)\' x="`',
    "link": "javascript:globalThis.acted=1//<a href='javascript:alert(5)'>x</a>",
    "address": "http://outside.invalid/<iframe src='//outside.invalid/'></iframe>",
    "template": "{{ 7*7 }} {% raw %} ${7*7} <% 7*7 %> &lt;script&gt;alert(6)&lt;/script&gt; &#60;b&#62;",
    "bidi": "\u202egnp.exe\u202c \u2066ab\u2067cd\u2069 \u061c\u200f end",
    "right to left": "محمد بن موسى الخوارزمي · אריאל כהן-לוי",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;http://outside.invalid\x07link\x1b]8;;\x07 \x9b1m \x1b[2J\x1b[H",
    "controls": "a\x00b\x07c\x08d\x0be\x0cf\x1bg\x7fh\x85i",
    "surrogates": "a\ud800b\udfff\ud83d c\ufffe\uffff",
    "invisible": "a\u200bb\u200dc\u2060d\ufeffe\u00adf\u3164g\u115fh" + "\u200b" * 300,
    "zalgo": "Z" + "\u0335\u0321\u034e\u0301" * 60 + "a" + "\u0e49" * 60 + "l" + "\u0489" * 60 + "go",
    "joined": "👩\u200d" * 300 + "ᄀ" * 300 + "한" + "ᆫ" * 300 + "ｶ" + "ﾞ" * 300,
    "more joined": "\u0600" * 300 + "👩" + "🏽" * 300 + "\u0e33" * 300 + "a" + "\u0301\u200c" * 300,
    "emoji": "👩\u200d👩\u200d👧\u200d👦🏳\ufe0f\u200d🌈🇺🇳" * 40,
    "long word": "W" * 10_000,
    "long word of another script": "漢" * 3_000 + "ஶ்ரீ" * 800,
    "no-break": "no\u00a0break\u00a0" * 400,
    "lines": "line\n" * 3_000 + "\t" * 400 + "\u2028\u2029",
    "numbers": "-1e308 nan Infinity 0x41 #case-1 ?q=1&r=2 ../../etc/passwd %2e%2e%2f",
}
