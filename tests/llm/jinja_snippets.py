"""Small templates for each part of the language."""

VARIABLES = {
    "name": "World", "text": "  a B\tc\n", "lines": "one\ntwo\n\nthree", "empty": "", "none_value": None, "yes": True, "no": False,
    "number": 7, "real": 2.5, "large": 12345678901234567, "word": "stra\u00dfe \u00c9t\u00e9 \u4f60\u597d \U0001f642",
    "items_list": [3, 1, 2], "mixed": [1, "a", None, True, 2.0, [1], {"k": "v"}], "nested": [[1, 2], [3], []],
    "map": {"b": 1, "a": [1, 2], "items": "own", "C": {"d": None}}, "users": [
        {"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "bob", "age": 25}, {"name": "Cid", "age": 30, "off": True}],
    "quotes": "it's \"q\" \\ \u200b\u00a0\x01", "html": "<a href='x'>&</a>",
}

SNIPPETS = [
    # White space around tags.
    "a\n  {% if yes %}\n  b\n  {% endif %}\n  c\n",
    "a {%- if yes %} b {%- endif -%}  c",
    "  {{- name -}}  x",
    "{%+ if yes %}a{% endif +%}\nb",
    "a\n{# comment #}\nb{#- c -#} d",
    "{% raw %}{{ x }}{% y %}{% endraw %}!",
    "{%- raw -%}  {{ {%- endraw -%}  x",
    "a\r\nb\rc\n",
    "x\n\n",
    "",
    "  {% for i in items_list %}\n    {{ i }}\n  {% endfor %}\nz",
    "{{ name }}\n{% if yes %}\n\n x {% endif %}\n\n\ny",
    "\t{%- set x = 1 %}\n \t{{ x }}",
    "{{ '{{' }} {{ '%}' }} {{ \"#}\" }}",
    "{% set a %}\n x\n{% endset %}[{{ a }}]",
    "{{ 'a'\n 'b' }}",
    "a{{- '\n' }}b",
    "{#- multi\nline -#}\n x",
    " {#+ x #}\ny",
    "{%if yes%}a{%endif%}",
    "{% if yes -%}\n   a\n{%- else -%} b {%- endif %}",
    "a {{ name -}}\n\n b",
    "a\n   {%- if yes %}b{% endif %}",
    # Numbers and operators.
    ("{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 "
     "% 3 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 2 ** -1 }}"),
    ("{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 }} {{ 123456.789 }} {{ 0.1 + "
     "0.2 }} {{ 1_000 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }}"),
    "{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ - 3 }} {{ +3 }} {{ 5 - -3 }}",
    "{{ 1 / 0 }}",
    "{{ 1 // 0 }}",
    "{{ 1 % 0 }}",
    "{{ 1.0 / 0 }}",
    "{{ yes + yes }} {{ yes * 3 }} {{ -yes }}",
    "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 2 * 'x' }} {{ 'x' * -1 }}|{{ [1] + [2] }} {{ [0] * 3 }} {{ (1,) + (2,) }}",
    "{{ 'a' + 1 }}",
    "{{ 1 + 'a' }}",
    "{{ none + 1 }}",
    "{{ [1] + (2,) }}",
    "{{ 'a' - 'b' }}",
    "{{ {} + {} }}",
    "{{ 'a' ~ 1 ~ none ~ 2.0 ~ true ~ [1, 'x'] }}",
    ("{{ 1 == 1.0 }} {{ true == 1 }} {{ '1' == 1 }} {{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ "
     "{'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ none == false }}"),
    ("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 }} {{ 1 != 2 }} {{ 'a' < 'b' }} {{ 'Z' < 'a' "
     "}} {{ [1, 2] < [1, 3] }} {{ 1 <= 1.0 }}"),
    "{{ 'a' < 1 }}",
    "{{ none < 1 }}",
    "{{ {} < {} }}",
    ("{{ 1 in [1, 2] }} {{ 1 not in [1, 2] }} {{ 'ell' in 'hello' }} {{ 'b' in map }} {{ '' in "
     "'a' }} {{ 1 in (2,) }}"),
    "{{ 1 in 'abc' }}",
    "{{ 1 in 5 }}",
    "{{ not yes }} {{ not no and yes }} {{ yes and 'x' }} {{ no or 'y' }} {{ '' or none or 0 }} {{ not '' }}",
    ("{{ 'a' if yes else 'b' }} {{ 'a' if no }}| {{ 'a' if no else 'b' if no else 'c' }} {{ ('x' "
     "if no) is defined }}"),
    "{{ 1 if yes else missing.x }}",
    # Printing.
    ("{{ none_value }} {{ yes }} {{ real }} {{ large }} {{ mixed }} {{ map }} {{ (1,) }} {{ () "
     "}} {{ (1, 2) }} {{ [] }} {{ {} }} {{ 3.0 }}"),
    "{{ [quotes] }} {{ [word] }} {{ {1: 'a', none: 2, true: 3.5} }}",
    "{{ range(3) }} {{ range(1, 10, 3) | list }} {{ range(5, 0, -2) | list }}",
    "{{ map.keys() }} {{ map.values() }} {{ {'a': 1}.items() }}",
    "{{ 1, 2 }}",
    "{{ namespace(a=1, b='x') }}",
    "{{ 1e400 }} {{ -1e400 }}",
    "{{ 100000 * 100000.0 }} {{ 1e22 }}",
    # Texts.
    "{{ 'a\\nb\\tc\\\\d\\'e\\x41\\u00e9\\101' }} {{ \"it's\" }} {{ 'a\\qb' }}",
    "{{ word[0] }}{{ word[-1] }}{{ word[7:10] }}{{ word[::-1] }}{{ word[:3] }}{{ word[-2:] }}{{ word[1:100:3] }}",
    ("{{ word|length }} {{ word.upper() }} {{ word.lower() }} {{ word.title() }} {{ "
     "word.capitalize() }} {{ word|upper }} {{ word|title }}"),
    "{{ 'abc'[5] }}|{{ 'abc'[5] is defined }}",
    ("[{{ text.strip() }}] [{{ text.lstrip() }}] [{{ text.rstrip() }}] [{{ 'xxaxx'.strip('x') "
     "}}] [{{ 'abcab'.rstrip('ab') }}] [{{ text|trim }}] [{{ 'xay'|trim('xy') }}]"),
    ("{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ "
     "'a,b,c'.rsplit(',', 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ ' a b c '.split(none, 1) }}"),
    "{{ 'abc'.split('') }}",
    ("{{ 'aXbXc'.split('X')[-1] }} {{ 'x'.split('y') }} {{ ''.split('y') }} {{ ''.split() }} {{ "
     "'a\u3000b'.split() }} {{ 'abab'.rsplit('ab') }}"),
    "{{ lines.splitlines() }} {{ lines.splitlines(true) }}",
    ("{{ name.startswith('Wo') }} {{ name.endswith(('x', 'ld')) }} {{ name.startswith('') }} {{ "
     "name.startswith('W', 0) }}"),
    ("{{ 'banana'.replace('a', 'o') }} {{ 'banana'.replace('a', 'o', 2) }} {{ 'ab'.replace('', "
     "'-') }} {{ 'banana'|replace('an', 'AN') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ "
     "5|replace(5, 6) }}"),
    ("{{ 'banana'.find('an') }} {{ 'banana'.find('an', 2) }} {{ 'banana'.rfind('an') }} {{ "
     "'banana'.find('x') }} {{ 'banana'.index('n') }} {{ 'banana'.count('a') }} {{ "
     "'aaaa'.count('aa') }} {{ word.find('t\u00e9') }}"),
    "{{ 'banana'.index('x') }}",
    "{{ ', '.join(['a', 'b']) }} {{ '-'.join('abc') }}",
    "{{ ', '.join([1]) }}",
    ("{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('-') }} {{ "
     "'abc'.rpartition('-') }}"),
    ("{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ "
     "'ABC'.isupper() }} {{ 'aBC'.islower() }} {{ '12'.isdigit() }} {{ ' '.isspace() }} {{ "
     "''.isdigit() }}"),
    ("{{ '{} {}'.format('a', 1) }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}{y!r}'.format(x=1, "
     "y='q') }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:.2f} {:05d} "
     "{:,} {:x} {:+d}'.format(3.14159, 42, 1234567, 255, 5) }} {{ '{{}}'.format() }} {{ "
     "'{0.name}{0[age]}'.format(users[0]) }}"),
    "{{ '{} {}'.format(1) }}",
    "{{ '{} {0}'.format(1) }}",
    "{{ '{'.format() }}",
    "{{ '%s is %d, %5.2f|%-5s|%05d|%x|%r|%%|%+d|%5s|%.2s' % ('a', 3, 2.567, 'b', 42, 255, 'q', 5, 'r', 'long') }}",
    "{{ '%s' % 'x' }} {{ '%(a)s-%(b)d' % {'a': 1, 'b': 2} }} {{ '%s %s' % (1, [2]) }} {{ 'x' % () }}",
    "{{ '%s %s' % ('a',) }}",
    "{{ '%s' % ('a', 'b') }}",
    "{{ '%d' % 'x' }}",
    "{{ '%s and %s' | format('a', 1) }}",
    "{{ name.nothing }}|{{ name.nothing is defined }}",
    "{{ name.nothing() }}",
    "{{ name.upper is callable }}",
    "{{ 'abc'['upper']() }}",
    "{{ name.__class__ }}|",
    "{{ name.__class__.x }}",
    # Lists and maps.
    ("{{ items_list[0] }} {{ items_list[-1] }} {{ items_list[5] }}| {{ items_list[1:] }} {{ "
     "items_list[::-1] }} {{ items_list[:-1] }} {{ items_list[::2] }} {{ items_list[5:] }} {{ "
     "items_list[-10:2] }} {{ items_list[2:0:-1] }}"),
    "{{ items_list[::0] }}",
    "{{ items_list['a'] }}|",
    "{{ items_list.0 }} {{ nested.0.1 }}",
    "{{ (1, 2, 3)[1:] }} {{ range(10)[2:5] | list }} {{ range(3)[-1] }}",
    "{{ [1, 2].index(2) }} {{ [1, 1].count(1) }}",
    "{{ [1].append(2) }}",
    "{{ map.update({}) }}",
    "{{ map.pop('a') }}",
    ("{{ map.b }} {{ map['b'] }} {{ map.get('b') }} {{ map.get('x') }} {{ map.get('x', 'd') }} "
     "{{ map['items'] }} {{ map.C.d }} {{ map.missing }}| {{ map['missing'] is defined }}"),
    "{{ map.missing.deeper }}",
    "{{ map['missing']['deeper'] }}",
    "{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in map %}{{ k }};{% endfor %}",
    "{% for k, v in map | items %}{{ k }};{% endfor %}{{ missing | items | list }}",
    "{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ dict([('a', 1)]) }} {{ {'a': 1, 'a': 2} }}",
    "{{ {[1]: 2} }}",
    "{{ {(1, 2): 3}[(1, 2)] }} {{ {1: 'int'}[1.0] }} {{ {true: 't'}[1] }}",
    "{{ map | length }} {{ mixed | count }} {{ '' | length }} {{ missing | length }}",
    "{{ 5 | length }}",
    "{{ none | length }}",
    "{{ map.copy() == map }}",
    # Undefined.
    ("[{{ missing }}] {{ missing is defined }} {{ missing | default('d') }} {{ none_value | "
     "default('d') }} {{ none_value | default('d', true) }} {{ '' | d('e', true) }} {{ not "
     "missing }} {{ missing ~ 'x' }}"),
    "{{ missing.attribute }}",
    "{{ missing['x'] }}",
    "{{ missing() }}",
    "{{ missing + 1 }}",
    "{{ missing == other }} {{ missing == none }} {{ missing != 1 }}",
    "{{ missing < 1 }}",
    "{{ -missing }}",
    "{% for x in missing %}x{% else %}none{% endfor %}",
    "{{ 'a' in missing }} {{ missing in ['a'] }}",
    "{{ missing in 'a' }}",
    "{{ [missing] }}",
    "{{ missing | upper }}|{{ missing | trim }}|{{ missing | list }}|{{ missing | join(',') }}",
    "{{ missing | tojson }}",
    "{{ missing | first }}|",
    "{{ missing | int }}",
    "{{ users | map(attribute='tags') | list }}",
    # Statements.
    "{% if no %}a{% elif number == 7 %}b{% else %}c{% endif %}",
    "{% if missing %}a{% endif %}b",
    ("{% for i in items_list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ "
     "loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}"),
    ("{% for i in items_list %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ "
     "loop.cycle('odd', 'even') }} {{ loop.changed(i) }} {{ loop.depth }};{% endfor %}"),
    "{% for i in items_list if i > 1 %}{{ i }}{{ loop.length }}{{ loop.last }},{% else %}none{% endfor %}",
    "{% for i in [] %}{% else %}empty{% endfor %}",
    ("{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break "
     "%}{% endif %}{{ i }}{% endfor %}"),
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a }}{{ b }};{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for c in 'h\u00e9y' %}{{ c }}.{% endfor %}",
    "{% for i in 5 %}{% endfor %}",
    "{% for i in none %}{% endfor %}",
    ("{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}{{ n.v }}{{ loop.depth }}({{ "
     "loop(n.c) }}){% endfor %}"),
    "{% for i in [1] %}{{ loop([1]) }}{% endfor %}",
    "{% for i in [1, 2] %}{% for j in [1, 2] %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{{ loop }}|{{ loop is defined }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}",
    ("{% set ns = namespace(x=0) %}{% for i in items_list %}{% set ns.x = ns.x + i %}{% endfor "
     "%}{{ ns.x }} {{ ns.y is defined }} {{ ns['x'] }}"),
    "{% for i in [1,2] %}[{{ x }}]{% set x = i %}{% endfor %}[{{ x }}]",
    "{% set x.y = 1 %}",
    "{% set ns = {} %}{% set ns.y = 1 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = (1,) %}",
    "{% set t = 1, 2 %}{{ t }}",
    "{% set x %}a{{ name }}b{% endset %}{{ x }}{{ x | length }}",
    "{% set x | upper | trim %} a {% endset %}[{{ x }}]",
    "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set x = 1 %}{% set y %}{% set x = 2 %}{{ x }}{% endset %}{{ x }}{{ y }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a }}{{ c }}|",
    "{% set a = 0 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}",
    "{% generation %}a{% set x = 1 %}{{ name }}{% endgeneration %}{{ x }}|",
    "{% filter upper | replace('A', 'x') %}abc{{ name }}{% endfilter %}",
    ("{% macro m(a, b='B', c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 2) }} {{ "
     "m(b=3, a=4) }} {{ m() }}|"),
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(z=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro m(a) %}{{ a + 1 }}{% endmacro %}{{ m() }}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    ("{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}{% for "
     "x in [5] %}{{ m() }}{% endfor %}"),
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in {{ name }}{% endcall %}",
    ("{% macro m(x) %}{% for i in x %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% "
     "call(a, b) m([7, 8]) %}{{ a }}:{{ b }};{% endcall %}"),
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(1, *(2,)) }}",
    "{% macro m() %}a{% endmacro %}{{ m }} {{ m.name }} {{ m() | upper }} {{ m() is string }}",
    ("{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}o{% endmacro %}{{ "
     "outer() }}{{ inner is defined }}"),
    # Filters.
    ("{{ mixed | tojson }} {{ map | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ {'a': {}} "
     "| tojson(indent=4) }} {{ word | tojson }} {{ word | tojson(ensure_ascii=true) }} {{ quotes "
     "| tojson }} {{ html | tojson }} {{ map | tojson(separators=(',', ':')) }} {{ map | "
     "tojson(sort_keys=true) }} {{ 1.0 | tojson }} {{ 1e20 | tojson }}"),
    ("{{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ (1, 2) | tojson }} {{ 'x' | tojson | "
     "length }} {{ [1, [2]] | tojson(indent='\t') }}"),
    "{{ range(3) | tojson }}",
    "{{ namespace() | tojson }}",
    "{{ {(1, 2): 3} | tojson }}",
    ("{{ [1, 2, 3] | join }} {{ ['a', 1, none] | join(', ') }} {{ users | join(', ', "
     "attribute='name') }} {{ 'abc' | join('-') }} {{ users | map(attribute='name') | join(' ') "
     "}}"),
    ("{{ items_list | first }} {{ items_list | last }} {{ 'abc' | first }} {{ 'abc' | last }} {{ "
     "[] | first }}| {{ map | first }} {{ map | last }}"),
    ("{{ items_list | sort }} {{ items_list | sort(reverse=true) }} {{ ['b', 'A', 'c', 'B'] | "
     "sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ users | sort(attribute='age') "
     "| map(attribute='name') | list }} {{ users | sort(attribute='age,name', reverse=true) | "
     "map(attribute='name') | list }}"),
    "{{ mixed | sort }}",
    ("{{ map | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(true) }} {{ {'b': 1, 'a': 2} | "
     "dictsort(by='value') }} {{ {'b': 1, 'a': 2} | dictsort(reverse=true) }}"),
    ("{{ [1, 2, 1, 'a', 'A'] | unique | list }} {{ ['a', 'A'] | unique(true) | list }} {{ users "
     "| unique(attribute='age') | map(attribute='name') | list }}"),
    ("{{ [3, 1, 2] | min }} {{ [3, 1] | max }} {{ ['b', 'A'] | min }} {{ [] | max }}| {{ users | "
     "max(attribute='age') | tojson }}"),
    "{{ [1, 2] | sum }} {{ users | sum(attribute='age') }} {{ [1.5, 2] | sum(start=10) }}",
    "{{ ['a'] | sum }}",
    ("{{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3] | batch(2, 0) | list }} {{ [1, 2, 3, "
     "4, 5] | slice(2) | list }} {{ [1, 2, 3] | slice(2, 'x') | list }}"),
    "{{ 'abc' | reverse }} {{ [1, 2] | reverse | list }} {{ 'abc' | list }} {{ map | list }}",
    ("{% for g in users | groupby('age') %}{{ g.grouper }}:{{ g.list | length }}{% endfor %} {% "
     "for k, v in users | groupby('age') %}{{ k }}{{ v | map(attribute='name') | join }}{% "
     "endfor %}"),
    ("{{ users | selectattr('off') | map(attribute='name') | list }} {{ users | "
     "selectattr('age', 'equalto', 30) | list | length }} {{ users | rejectattr('off', "
     "'defined') | list | length }} {{ users | selectattr('tags', 'defined') | first | tojson }} "
     "{{ users | selectattr('name', 'in', ['bob']) | list | length }}"),
    ("{{ mixed | select('string') | list }} {{ mixed | reject('none') | list }} {{ [0, 1, ''] | "
     "select | list }} {{ [1, 2, 3] | select('odd') | list }} {{ [1, 2, 3] | reject('>', 1) | "
     "list }} {{ [1, 2, 3] | select('divisibleby', 3) | list }}"),
    ("{{ ['a', 'b'] | map('upper') | list }} {{ nested | map('length') | list }} {{ users | "
     "map(attribute='tags.0', default='?') | list }} {{ ['a b'] | map('replace', ' ', '_') | "
     "join }} {{ [['x', 'y']] | map(attribute=1) | list }}"),
    "{{ [1] | map('nothing') | list }}",
    "{{ [1] | select('nothing') | list }}",
    "{% set s = [1, 2] | map('string') %}{{ s | list }}{{ s | list }}{{ 'true' if s }}",
    "{{ [1] | map('string') | length }}",
    "{{ ([1] | map('string'))[0] }}|",
    "{{ [1, 2] | map('string') | first }}",
    "{{ [1] | select is sequence }} {{ [1] | select is iterable }}",
    ("{{ lines | indent }}\n{{ lines | indent(2, true) }}\n{{ lines | indent('> ', blank=true) }}\n"
     "{{ '' | indent }}|{{ 'a\n' | indent(1) }}|"),
    "{{ 5 | indent }}",
    ("{{ '  x ' | trim }}{{ 5 | trim }} {{ 5 | string + 'x' }} {{ none | string }} {{ 'aBC' | "
     "capitalize }} {{ true | lower }} {{ 'hello-world (foo) bar' | title }}"),
    ("{{ '12' | int }} {{ ' 7 ' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ '3.9' | int }} {{ "
     "3.9 | int }} {{ '0x1f' | int(base=16) }} {{ '11' | int(0, 2) }} {{ none | int }} {{ '1e3' "
     "| int }} {{ '-5' | int }} {{ '1_0' | int }} {{ [] | int(9) }} {{ true | int }}"),
    ("{{ '1.5' | float }} {{ 'x' | float }} {{ 'x' | float(2.5) }} {{ 3 | float }} {{ '1e400' | "
     "float }} {{ 'nan' | float }} {{ '-inf' | float }} {{ '+1' | float }}"),
    ("{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.567 | round(2) }} {{ 2.5 | round | int }} {{ 42 | "
     "round }} {{ 2.1 | round(0, 'ceil') }} {{ 2.19 | round(1, 'floor') }} {{ 1234.5 | round(-2) "
     "}} {{ 0.15 | round(1) }} {{ 2.675 | round(2) }}"),
    "{{ -3 | abs }} {{ -3.5 | abs }} {{ (-3) | abs }} {{ true | abs }}",
    "{{ 'a' | abs }}",
    ("{{ html | e }} {{ html | escape | escape }} {{ html | safe }} {{ html | forceescape }} {{ "
     "html | escape ~ '<' }} {{ (html | escape) + '<' }} {{ '<' + (html | safe) }} {{ (html | "
     "safe) is escaped }} {{ [html | safe] }} {{ (html | e | forceescape) }}"),
    "{{ ('a' | safe).upper() + '<' }} {",
    ("{{ 'a b c d e f' | truncate(7) }} {{ 'abcdefghijklmnop' | truncate(9, true) }} {{ 'hello "
     "world foo bar' | truncate(12, false, '!', 0) }} {{ 'short' | truncate }}"),
    "{{ 'one two, three' | wordcount }} [{{ 'ab' | center(7) }}] [{{ 'abc' | center(6) }}]",
    "{{ 1 | nothing }}",
    "{% if no %}{{ 1 | nothing }}{% endif %}ok",
    # Tests.
    ("{{ 1 is number }} {{ true is number }} {{ 1.5 is float }} {{ 1 is integer }} {{ true is "
     "integer }} {{ 'a' is string }} {{ map is mapping }} {{ [] is sequence }} {{ 'a' is "
     "sequence }} {{ map is sequence }} {{ 5 is sequence }} {{ (1,) is sequence }} {{ range(1) "
     "is sequence }}"),
    ("{{ [] is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ none is iterable }} {{ "
     "missing is iterable }} {{ none is none }} {{ missing is none }} {{ true is boolean }} {{ 1 "
     "is boolean }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }}"),
    ("{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 1 is "
     "eq 1 }} {{ 1 is ne(2) }} {{ 1 is lt 2 }} {{ 3 is gt(2) }} {{ 1 is le 1 }} {{ 2 is ge 3 }} "
     "{{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ 'x' is equalto 'x' }}"),
    ("{{ 'abc' is lower }} {{ 'ABC' is upper }} {{ 'aB' is lower }} {{ '1' is upper }} {{ range "
     "is callable }} {{ 'a' is callable }} {{ none is sameas none }} {{ 1 is sameas true }} {{ "
     "'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }}"),
    ("{{ 1 is not none }} {{ not 1 is none }} {{ missing is not defined }} {{ 1 is defined and 2 "
     "is defined }} {{ users[0] is mapping and users is not mapping }} {{ x is undefined or 1 }}"),
    "{{ 'a' is odd }}",
    "{{ 1 is nothing }}",
    "{{ number is number and name is string }}",
    # Functions.
    "{{ raise_exception('stop') }}",
    "{% if no %}{{ raise_exception('stop') }}{% endif %}ok",
    "{{ strftime_now('%Y-%m-%d %H:%M') }} {{ strftime_now('%d %b %Y, %A') }} {{ strftime_now is defined }}",
    ("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% "
     "set j = joiner('|') %}{{ j() }}x{{ j() }}y{{ j() }}"),
    "{{ range(3) | join }} {{ range(2, 5) | sum }}",
    "{{ range(1000000) | list }}",
    "{{ range(0, 5, 0) }}",
    "{{ namespace(a=1).a }} {{ namespace({'b': 2}).b }} {{ dict().x is defined }}",
    "{{ range('a') }}",
    "{{ 5() }}",
    "{{ name() }}",
    "{{ undefined_function(1) }}",
    # Syntax that Jinja refuses.
    "{% if %}",
    "{% if yes %}",
    "{% endif %}",
    "{% for i in %}{% endfor %}",
    "{{ }}",
    "{{ 1 + }}",
    "{{ (1 }}",
    "{{ 'a }}",
    "{{ 1",
    "{% set 1 = 2 %}",
    "{% set true = 2 %}",
    "{% unknown %}",
    "{# open",
    "{% raw %} open",
    "{{ a b }}",
    "{{ $ }}",
    "{% if yes %}{% endfor %}",
    "{{ [1, 2 }}",
    "{{ {1} }}",
    "{{ x[] }}",
    "{% macro %}{% endmacro %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% call 1 %}{% endcall %}",
    "{% break %}",
    "{{ f(a=1, 2) }}",
    "{{ 1 is }}",
    "{{ 1 | }}",
    "{{ a.1b }}",
    "{{ .x }}",
    "{% for i in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
]
