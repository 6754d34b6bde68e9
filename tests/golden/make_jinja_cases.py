#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/golden/jinja_cases.json: small templates, one construct each, and what jinja2 makes of them.

The environment is set up as transformers sets it up for chat templates: immutable sandbox, trim_blocks, lstrip_blocks,
break and continue, a `generation` block, tojson without HTML escaping, raise_exception.

usage: make_jinja_cases.py [--out jinja_cases.json]        Made with Python 3.11, jinja2 3.1.6.
"""
import argparse
import json
from pathlib import Path

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTEXT = {
    "messages": [{"role": "system", "content": " Be brief. \n"}, {"role": "user", "content": "Hi <there> & \"you\""}, {"role": "assistant", "content": "Hello!"}],
    "n": 5, "zero": 0, "neg": -7, "f": 2.5, "t": True, "no": False, "nil": None, "s": "Hello World", "e": "", "u": "ä世😀é", "pad": " \t\u00a0x\u3000\n",
    "l": [3, 1, 2], "el": [], "mixed": [1, "a", None, True, 2.5, [1], {"k": "v"}], "w": ["b", "A", "c", "a", "B"],
    "d": {"z": 1, "a": "x", "items": 3, "nested": {"k": [1, {"deep": "yes"}]}}, "ed": {},
    "rows": [{"k": "x", "v": 1, "o": {"p": 9}}, {"k": "y", "v": 2, "o": {"p": 8}}, {"k": "X", "v": 3}],
    "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}], "lines": "one\n\ntwo\r\nthree\n", "big": 9007199254740993,
}

OUTPUT = """
n ;; n + 1 ;; n - 10 ;; n * 2.0 ;; n / 2 ;; n // 2 ;; neg // 2 ;; neg % 3 ;; neg % -3 ;; -neg % -3 ;; 7.5 // 2 ;; -7.5 % 2 ;; n % 3 * 2 ;; 1 - 2 - 3 ;; (1 - (2 - 3)) ;; + n ;; - - n ;; true + true ;; 10 / 5 ;; 0.1 + 0.2 ;; 1e16 ;; 1e15 ;; 123456789.125 ;; 1e-5 ;; 0.0001 ;; 1.0e300 * 1e10 ;; 1.5e3 ;; big ;; big + 1 ;; -0.0 ;; 5 // 0.3 ;; 3 * -1
'a' + 'b' ;; 'a' ~ n ~ nil ~ f ;; 'ab' * 3 ;; 3 * 'ab' ;; 'ab' * -1 ;; l + [4] ;; (1,) + (2, 3) ;; [1] * 2 ;; 'a' 'b' "c" ;; 'it\\'s' ;; "q\\"q" ;; 'tab\\there' ;; '\\u00e9\\x41\\101' ;; 'un\\known' ;; '\\U0001F600' ;; '%s-%d' % ('a', 3) ;; '%s' % n ;; '%(k)s!' % {'k': 1}
1 < 2 ;; 1 < 2 < 2 ;; 1 < 3 > 2 ;; 1 == 1.0 ;; true == 1 ;; '1' == 1 ;; [1, 2] == [1, 2] ;; [1] == (1,) ;; {'a': 1, 'b': 2} == {'b': 2, 'a': 1} ;; nil == none ;; missing == other ;; missing == none ;; 'a' < 'b' ;; 'Z' < 'a' ;; [1, 2] < [1, 3] ;; (1, 2) <= (1, 2) ;; n != 5 ;; not n == 5 ;; not not n ;; n in l ;; 3 in l ;; 'x' not in d ;; 'a' in d ;; 'lo W' in s ;; '' in s ;; 1 in (1, 2) ;; 1.0 in l ;; not 3 in l ;; 3 in l == true
n and s ;; e and s ;; e or s ;; zero or nil or 'x' ;; n or s ;; not e ;; t and not no ;; no or t and n ;; 'a' if n else 'b' ;; 'a' if zero else 'b' ;; 'a' if zero ;; 'a' if zero else 'b' if e else 'c' ;; ('a' if zero) is defined ;; el or 'none' ;; ed or 'none' ;; missing or 'm' ;; 0.0 or 'zero'
d.a ;; d['a'] ;; d.nested.k[1].deep ;; d['nested']['k'][0] ;; d['items'] ;; d.missing ;; d.missing is defined ;; missing ;; missing is defined ;; l[0] ;; l[-1] ;; l[9] ;; l[9] is defined ;; l.0 ;; rows.1.k ;; s[0] ;; s[-1] ;; s[99] ;; u[1] ;; u[-2] ;; d[n] is defined ;; s.upper() ;; s['upper']() ;; nil.x is defined ;; n.x is defined ;; (1, 2)[1] ;; {'a': {'b': 2}}.a.b ;; l[true] ;; messages[0]['role'] ;; messages[-1].content ;; d.get('a') ;; d.get('q') ;; d.get('q', 'dflt') ;; d.keys() | list ;; d.values() | list ;; d.copy() == d
s[1:3] ;; s[:3] ;; s[3:] ;; s[:] ;; s[-3:] ;; s[:-3] ;; s[::2] ;; s[::-1] ;; s[8:2:-2] ;; s[5:1] ;; s[-100:100] ;; u[1:3] ;; u[::-1] ;; l[1:] ;; l[:-1] ;; l[::-1] ;; l[5:] ;; l[-2:] ;; l[:1:-1] ;; (1, 2, 3)[1:] ;; s[none:2] ;; messages[1:] | length ;; l[0:100:50] ;; s[9223372036854775807:] ;; s[::9223372036854775807] ;; s[-9223372036854775807::-5]
t ;; nil ;; no ;; f ;; 3.0 ;; l ;; el ;; mixed ;; d ;; ed ;; (1,) ;; () ;; (1, 'a') ;; [e, 'it\\'s', "a\\"b", "it's\\"both"] ;; ['tab\\t', 'nl\\n', 'bs\\\\', '\\x01', '\\x7f', 'é', u, '\\u200b', '\\u3000'] ;; {1: 2, none: 3, true: 4} ;; [[], {}, ()] ;; [1.0, 1e100, 1e-7] ;; {'a': 1, 'a': 2} ;; [missing] ;; e
mixed | tojson ;; d | tojson ;; u | tojson ;; '</script> & \\'q\\'' | tojson ;; [1.5, 1e20, 1e-7, true, none] | tojson ;; 'a\\"b\\\\c\\n\\r\\t\\x08\\x0c\\x00\\x1f\\x7f' | tojson ;; d | tojson(indent=2) ;; d | tojson(indent=0) ;; [] | tojson(indent=4) ;; [[], {}, [1]] | tojson(indent=1) ;; d | tojson(sort_keys=true) ;; u | tojson(ensure_ascii=true) ;; d | tojson(separators=(',', ':')) ;; {1: 2, none: 3, true: 4, 1.5: 5} | tojson ;; l | tojson(indent='\\t') ;; (1, 2) | tojson ;; e | tojson ;; rows | tojson(indent=2, separators=(',', ' : '))
s | upper ;; s | lower ;; 'heLLO wORLD' | capitalize ;; 'heLLO wORLD-x (y' | title ;; "it's they're" | title ;; '  a b ' | trim ;; 'xxaxx' | trim('x') ;; 'xyaxy' | trim('yx') ;; pad | trim ;; '[' ~ pad.strip() ~ ']' ;; u | upper ;; 'ÄÖ' | lower ;; s | length ;; u | length ;; l | count ;; d | length ;; missing | length ;; s | first ;; s | last ;; l | first ;; l | last ;; d | first ;; el | first ;; e | first ;; s | reverse ;; l | reverse | list ;; s | replace('l', 'L') ;; s | replace('l', 'L', 1) ;; 'aaa' | replace('aa', 'b') ;; 'abc' | replace('', '-') ;; 55 | replace(5, 6) ;; s | list ;; d | list ;; s | string ;; n | string ~ '!' ;; '<a href="x">&\\'' | escape ;; '<b>' | safe ;; '<' | e ;; '%s %s' | format('a', 'b') ;; '%(a)s' | format(a=1) ;; missing | upper ;; nil | upper ;; nil | trim
lines | indent ;; lines | indent(2, true) ;; lines | indent(2, blank=true) ;; lines | indent('> ', true, true) ;; 'x' | indent ;; e | indent(2, true)
missing | default('d') ;; missing | default ;; e | default('d') ;; e | default('d', true) ;; nil | default('d') ;; nil | d('d', boolean=true) ;; d.missing | default(d.a) ;; zero | default(1) ;; n | default(1, true)
'12' | int ;; ' 12 ' | int ;; '-3' | int ;; 'x' | int ;; 'x' | int(9) ;; '3.9' | int ;; 3.9 | int ;; -3.9 | int ;; '1_000' | int ;; nil | int ;; t | int ;; '2.5' | float ;; 'x' | float ;; 'x' | float(1.5) ;; '1e3' | float ;; n | float ;; 'inf' | float ;; -3 | abs ;; -2.5 | abs ;; l | min ;; l | max ;; w | min ;; w | max(case_sensitive=true) ;; el | max ;; rows | max(attribute='v')
l | sort ;; l | sort(reverse=true) ;; w | sort ;; w | sort(case_sensitive=true) ;; rows | sort(attribute='k', reverse=true) | map(attribute='v') | list ;; d.nested | dictsort ;; {'b': 1, 'A': 2} | dictsort ;; {'b': 1, 'A': 2} | dictsort(true) ;; {'b': 1, 'A': 2} | dictsort(by='value') ;; {'b': 1, 'A': 2} | dictsort(false, 'key', true) ;; w | unique | list ;; w | unique(true) | list ;; rows | unique(attribute='k') | map(attribute='v') | list ;; l | join ;; l | join(', ') ;; mixed | join('|') ;; rows | join(',', attribute='k') ;; s | join('.') ;; el | join(',') ;; d | items | list ;; d.items() | list ;; missing | items | list
rows | map(attribute='v') | list ;; rows | map(attribute='o.p', default=0) | list ;; rows | map(attribute='zz') | list ;; rows | map(attribute='zz', default='q') | list ;; w | map('upper') | list ;; w | map('replace', 'a', 'Q') | join ;; [[1, 2], [3, 4]] | map(attribute=1) | list ;; [[1, 2], [3]] | map('length') | list ;; l | select('odd') | list ;; mixed | select | list ;; mixed | reject | list ;; mixed | select('string') | list ;; l | select('gt', 1) | list ;; l | reject('in', [1, 2]) | list ;; rows | selectattr('k', 'equalto', 'x') | list | length ;; rows | selectattr('o') | map(attribute='v') | list ;; rows | selectattr('o', 'defined') | list | length ;; rows | rejectattr('v', 'ge', 2) | map(attribute='v') | list ;; rows | selectattr('o', 'undefined') | map(attribute='k') | first ;; rows | selectattr('v', '>', 1) | map(attribute='k') | join ;; messages | selectattr('role', 'in', ['user', 'system']) | map(attribute='role') | join(' ') ;; 'yes' if rows | selectattr('k', 'eq', 'none') else 'no' ;; missing | map('upper') | list
'a,b,,c'.split(',') ;; ' a  b '.split() ;; 'a b c d'.split(none, 2) ;; 'a b c '.split(maxsplit=1) ;; 'a,b,c'.split(',', 1) ;; 'a,b,c'.rsplit(',', 1) ;; ' a b c '.rsplit(none, 1) ;; 'abc'.split('bc') ;; ''.split() ;; ''.split(',') ;; 'a<sep>b<sep>'.split('<sep>')[-1] ;; lines.splitlines() ;; s.startswith('He') ;; s.startswith(('x', 'H')) ;; s.endswith('ld') ;; s.find('o') ;; s.rfind('o') ;; s.find('q') ;; u.find('😀') ;; s.index('W') ;; s.count('l') ;; 'aaa'.count('aa') ;; 'abc'.count('') ;; s.replace('o', '0') ;; s.replace('o', '0', 1) ;; ' x '.strip() ~ '|' ;; ' x '.lstrip() ~ '|' ;; ' x '.rstrip() ~ '|' ;; '\\n\\nab\\n'.strip('\\n') ;; 'abcba'.lstrip('ab') ;; 'abcba'.rstrip('ab') ;; s.lower() ;; "they're bill's".title() ;; 'hELLO'.capitalize() ;; '12'.isdigit() ;; ''.isdigit() ;; ', '.join(['a', 'b']) ;; ''.join([]) ;; '{}-{}'.format(1, 'b') ;; '{1}{0}{x}{{}}'.format(1, 2, x=3) ;; 'abc'.removeprefix('a').removesuffix('c') ;; l.index(1) ;; l.count(1) ;; (1, 2, 1).count(1)
n is number ;; t is number ;; f is float ;; n is float ;; n is integer ;; t is integer ;; t is boolean ;; s is string ;; d is mapping ;; l is mapping ;; s is sequence ;; l is sequence ;; d is sequence ;; n is sequence ;; missing is sequence ;; s is iterable ;; n is iterable ;; missing is iterable ;; nil is none ;; missing is none ;; nil is defined ;; n is odd ;; n is even ;; t is true ;; n is true ;; no is false ;; zero is false ;; n is eq 5 ;; n is equalto(5) ;; n is ne 5 ;; n is lt 6 ;; n is gt(6) ;; n is in [5] ;; n is not in [5] ;; n is not none and s is string ;; n is not defined ;; not n is defined ;; missing is not defined or n ;; n is defined and n > 3 ;; missing is defined and missing.x ;; 'x' if n is odd else 'y' ;; d.a is string and d.a | length ;; s | length is gt 3 ;; l | first is eq 3 ;; -1 is lt 0 ;; l | reverse is iterable
range(3) | list ;; range(1, 4) | list ;; range(5, 0, -2) | list ;; range(0) | list ;; dict(a=1, b=2) ;; dict(d.nested, x=1) ;; namespace(a=1).a ;; namespace({'a': 2}, b=3).b ;; namespace() is defined ;; namespace(a=1).b is defined ;; 1, 2 ;; (1, 2), 3 ;; [1, 2,] ;; {'a': 1,} ;; {n: s}[5] ;; {'a': l}.a[0] ;; -n | abs ;; (-n) | abs ;; 'a' ~ 'b' | upper ;; ('a' ~ 'b') | upper ;; n + 1 | string | length ;; not e | length ;; s | replace('l', 'L') | lower | length + 1 ;; (l | length) * 2 ;; l | length * 2 ;; [1, 2][0] + 1 ;; [[1]][0][0] ;; {'k': 'v'} | tojson | length ;; s.split()[0].lower() | capitalize
"""

WHOLE = [
    "{{ '<a>' | safe + '<b>' }} {{ '<b>' + '<a>' | safe }} {{ '<a>' | safe ~ '<b>' }} {{ '<a>' | e | e }} {{ ['<a>' | safe] }} {{ '<%s %d>' | safe % ('<', 3) }} {{ ('<%(k)s>' | safe) % {'k': '<'} }}", "{{ ('<a>' | safe).replace('a', '<') + '<' }} {{ ('<' | safe).join(['<', 1]) }} {{ ('<{}>' | safe).format('<') }} {{ ('<A> <' | safe).split()[0] + '<' }} {{ ('<a>' | safe)[0] + '<' }} {{ ('<a>' | safe)[:1] + '<' }} {{ ('<' | safe) * 2 + '<' }}", "{{ ('<' | safe | upper) + '<' }} {{ (' < ' | safe | trim) + '<' }} {{ ('<' | safe | replace('<', '>')) + '<' }} {{ ('<' | safe | string) + '<' }} {{ ('<' | safe | format) + '<' }} {{ (['<' | safe] | join) + '<' }} {{ ('<a' | safe | tojson) + '<' }} {{ ('<' | safe | default('x')) + '<' }}", "{% set x = '<a>' | safe + l | tojson %}{{ x + '\\n' }}{{ '<' | safe == '<' }}",
    "{{ nil | map('upper') | list }} {{ nil | selectattr('x') | list }} {{ 0 | select | list }} {{ nil | rejectattr('x', 'eq', 1) | list }} {{ 'y' if nil | map('upper') }}",
    "{% for x in l %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }} {% endfor %}",
    "{% for x in el %}x{% else %}empty{% endfor %}", "{% for x in l %}x{% else %}empty{% endfor %}", "{% for x in missing %}x{% else %}nothing{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}={{ x }};{% endfor %}", "{% for x in l if x > 9 %}x{% else %}none left{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }},{% endfor %}", "{% for c in u %}[{{ c }}]{% endfor %}",
    "{% for (a, b) in [(1, 2), [3, 4]] %}{{ a }}{{ b }} {% endfor %}", "{% for (a,) in [(1,), (2,)] %}{{ a }}{% endfor %}", "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in l %}{{ loop.previtem | default('-') }}{{ x }}{{ loop.nextitem | default('-') }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{{ loop.index }}|{% endfor %}",
    "{% for x in l %}{% set outer = loop %}{% for y in [1, 2] %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in range(9) %}{% if x is odd %}{% continue %}{% endif %}{% if x > 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [1, 2, 3] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in l | sort %}{{ x }}{% endfor %}{{ x is defined }}", "{% for x in l %}{% set y = x %}{% endfor %}{{ y is defined }}",
    "{% set y = 0 %}{% for x in l %}{{ y }}{% set y = x %}{{ y }} {% endfor %}{{ y }}", "{% for i in range(3) %}{{ q is defined }}{% set q = i %}{% endfor %}",
    "{% set ns = namespace(t=0) %}{% for x in l %}{% set ns.t = ns.t + x %}{% endfor %}{{ ns.t }}", "{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns.b = ns.a + 1 %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}",
    "{% set ns = namespace(l=[]) %}{% for x in l %}{% set ns.l = ns.l + [x * 2] %}{% endfor %}{{ ns.l }}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "{% set (a, b) = [1, 2] %}{{ a + b }}",
    "{% set x = 1, 2 %}{{ x }}", "{% set x %}a {{ n }} b{% endset %}{{ x | upper }}", "{% set x | upper | replace('A', 'Q') %}a b{% endset %}{{ x }}", "{% set messages = messages[1:] %}{{ messages | length }}",
    "{% if n > 3 %}{% set z = 'in' %}{% endif %}{{ z }}", "{% if zero %}{% set z = 'in' %}{% endif %}[{{ z }}]", "{% if zero %}a{% elif e %}b{% elif n %}c{% else %}d{% endif %}", "{% if missing %}a{% else %}b{% endif %}", "{% if not missing and el == [] %}a{% endif %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}", "{% macro m(a, b=a ~ '!') %}{{ b }}{% endmacro %}{{ m('x') }}",
    "{% macro f(n) %}{{ n * f(n - 1) | int if n > 1 else 1 }}{% endmacro %}{{ f(5) }}", "{% macro m(x) %}{{ x }}{% endmacro %}{{ m('a') | upper ~ m('b') }}",
    "{% macro m() %}{{ late }}{% endmacro %}{% set late = 'seen' %}{{ m() }}", "{% macro m() %}{% set inner = 1 %}{% endmacro %}{{ m() }}{{ inner is defined }}", "{% for x in l %}{% macro m() %}<{{ x }}>{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}", "{% set m = 1 %}{% macro k() %}{{ m }}{% endmacro %}{% set m = 2 %}{{ k() }}",
    "{% filter upper %}a {{ s }}{% endfilter %}", "{% filter replace('a', 'b') | trim %}  banana {% endfilter %}|",
    "{% generation %}g{{ n }}{% endgeneration %}", "a{#- c -#} b", "a {# {{ x }} #} b", "{# a\nb #}\nc",
    "a\n{% if t %}\nb\n{% endif %}\nc", "a\n  {% if t %}\n    b\n  {% endif %}\nc\n", "a\n  {%- if t -%}\n  b\n  {%- endif -%}\n  c", "a\n  {%+ if t %}\nb{% endif +%}\nc", "  {{ n }}\n  {{- n }}\n  {{ n -}}  \n x", "{% if t %}  x  {% endif %}  y", "x {% if t %}y{% endif %}\n\nz",
    "\n\n{% set a = 1 %}\n\n{{ a }}\n\n", "a \t{% set a = 1 %} \n b", "a\n\t {# c #}\nb", "{{ n }}\n{{ n }}\n", "line\r\n{% if t %}\r\nx\r\n{% endif %}\r\ny\r", "{{- 1 -}} {{ 2 }}", "{%- for x in l %}\n{{ x }}\n{%- endfor %}\nend",
    "{% for x in l -%}\n  {{ x }}\n{% endfor %}", "{%if t%}tight{%endif%}", "{{n}}{{-n}}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ '}}' }}{{ '%}' }}", "{{ \"{% if %}\" }}", "{ n } {{ '{' }}% }}", "{% set x = {'a': '}}'} %}{{ x.a }}",
    "{{ loop is defined }}", "{{ caller is defined }}", "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] | trim + '</s>\\n' }}{% endfor %}", "{{ messages | tojson }}", "{{ raise_exception is defined }}",
    "{% for k, v in d | dictsort if v is not mapping %}{{ k }}{{ v }} {% endfor %}", "{% set x = 'a' if no %}{{ x is defined }}", "{% if 'a' in d and d.a is string %}ok{% endif %}", "{% if n is not none and n is number %}ok{% endif %}", "{% for x in l | map('string') | list + ['z'] %}{{ x }}{% endfor %}",
]

ERRORS = [
    "{{ d[1:] }}", "{{ nil[:2] }}", "{{ n[1:] }}", "{{ missing[1:] }}", "{{ rows | selectattr('o.p', 'eq', 8) | list }}", "{{ [x y] }}", "{{ 1 + n * 2 ~ 'x' }}", "{{ 'x' ~ 1 + 2 }}", "{% for a, in [(1,)] %}{% endfor %}", "{% set a = b = 1 %}", "{{ missing.x }}", "{{ missing['x'] }}", "{{ missing() }}", "{{ missing + 1 }}", "{{ -missing }}", "{{ missing < 1 }}", "{{ d.q.r }}", "{{ nil.x.y }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ l + 'a' }}", "{{ nil + 1 }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}", "{{ 'a' - 'b' }}", "{{ 'a' * 'b' }}",
    "{{ 1 < 'a' }}", "{{ [] < 1 }}", "{{ {} < {} }}", "{{ 1 in n }}", "{{ 1 in 'a' }}", "{{ n() }}", "{{ s() }}", "{{ ('<' | safe) + 1 }}", "{{ n | map('upper') | list }}", "{{ d.append(1) }}", "{{ l.append(1) }}", "{{ l.sort() }}", "{{ d.update({}) }}", "{% set d.x = 1 %}", "{% set q.x = 1 %}", "{% for x in n %}{% endfor %}", "{% for x in nil %}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{% set a, b = [1] %}", "{% set a, b = [1, 2, 3] %}",
    "{{ n | length }}", "{{ nil | length }}", "{{ n | list }}", "{{ n | join }}", "{{ n | first }}", "{{ mixed | sort }}", "{{ mixed | sum }}", "{{ l | map('nope') | list }}", "{{ l | select('nope') | list }}", "{{ n | nope }}", "{{ n is nope }}", "{{ missing | tojson }}", "{{ range | tojson }}", "{{ s | indent(first=1, nope=2) }}", "{{ l | dictsort }}", "{{ rows | reverse | last }}", "{{ (rows | map(attribute='v')) | length }}",
    "{{ range(200000) }}", "{{ range(1, 2, 0) }}", "{{ 's'.split('') }}", "{{ ','.join([1]) }}", "{{ s.index('q') }}", "{{ l.index(9) }}", "{{ s.nope() }}", "{{ s.startswith(1) }}", "{{ s[::0] }}", "{{ '%d' % 'x' }}", "{{ '%s %s' % 1 }}", "{{ '%s' % (1, 2) }}", "{{ '{} {}'.format(1) }}", "{{ {[1]: 2} }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% for x in l %}{{ loop.cycle() }}{% endfor %}", "{% for x in l %}{{ loop(x) }}{% endfor %}", "{{ raise_exception('my words') }}", "{{ raise_exception() }}", "{{ missing | int }}", "{{ missing is odd }}", "{{ 'a' is odd }}", "{{ 'a' is gt 1 }}", "{{ n is divisibleby 0 }}", "{{ '\\xZZ' }}",
    "{{", "{{ n", "{{ n }", "{{ }}", "{{ n n }}", "{{ n + }}", "{{ (n }}", "{{ n) }}", "{{ [1, }}", "{{ {'a' 1} }}", "{{ n. }}", "{{ n | }}", "{{ n is }}", "{{ f(a=1, 2) }}", "{{ 1 ? 2 }}", "{{ 'open }}", "{% if n %}", "{% if %}x{% endif %}", "{% if n %}{% else %}{% else %}{% endif %}", "{% endif %}", "{% for x l %}{% endfor %}", "{% for in l %}{% endfor %}", "{% for 1 in l %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for x in l %}", "{% for x in l %}{% endif %}", "{% set %}", "{% set 1 = 2 %}", "{% set x = %}", "{% set x %}", "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m() %}", "{% break %}", "{% continue %}", "{% macro m() %}{% break %}{% endmacro %}", "{% nope %}", "{% %}", "{# open", "{% raw %} open", "{% call n %}{% endcall %}", "{% filter %}{% endfilter %}", "{% do l %}", "{% if n %}x{% endfor %}", "{{ n is defined is defined }}", "{{ 12abc }}", "{{ a b }}", "{{ * }}", "{{ not }}", "{{ n if }}", "{% for x in l %}{% else %}{% break %}{% endfor %}", "{{ d['a' }}", "{% if n == %}{% endif %}", "{% if n %}{% elif %}{% endif %}",
]


class Generation(Extension):
    """A block that is its content, as a call: what it sets stays inside."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("content"), [], [], body).set_lineno(line)

    def content(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    return made


def run(made, template):
    """{"expected": text} or {"error": what Python says}."""
    try:
        return {"template": template, "expected": made.from_string(template).render(**CONTEXT)}
    except (jinja2.exceptions.TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError, SyntaxError, AssertionError) as error:
        return {"template": template, "error": f"{type(error).__name__}: {error}"}


def main():
    parser = argparse.ArgumentParser(description="Render small templates with jinja2.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "jinja_cases.json")
    arguments = parser.parse_args()
    made = environment()
    outputs = ["{{ " + expression.strip() + " }}" for row in OUTPUT.strip().splitlines() for expression in row.split(";;")]
    rendered = [run(made, template) for template in outputs + WHOLE + ERRORS]
    for case in rendered:
        if ("error" in case) != (case["template"] in ERRORS):
            print("unexpected:", case)
    lines = ",\n".join("    " + json.dumps(case, ensure_ascii=False) for case in rendered)
    head = json.dumps({"made_with": f"jinja2 {jinja2.__version__}", "context": CONTEXT}, ensure_ascii=False)[:-1]
    arguments.out.write_text(head + ', "cases": [\n' + lines + "\n]}\n", encoding="utf-8")
    print(f"{len(rendered)} cases, {sum('error' in case for case in rendered)} of them errors")


if __name__ == "__main__":
    main()
