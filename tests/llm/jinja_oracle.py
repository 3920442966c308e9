"""Chat templates as Python renders them: Jinja set up as the library transformers does (render_jinja_template).

Needs jinja2; transformers itself is not needed.
"""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1700000000  # seconds since 1970: the time that strftime_now() takes


class Generation(jinja2.ext.Extension):
    """{% generation %}, which transformers uses to find the answers in a text; it renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)

    def render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW).strftime(form)


ENVIRONMENT = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = strftime_now


def compiled(template):
    """The template, or None if Jinja refuses its syntax."""
    try:
        return ENVIRONMENT.from_string(template)
    except (jinja2.exceptions.TemplateError, SyntaxError):  # Python itself refuses `break` outside a loop
        return None


def rendered(template, variables):
    """What a compiled template makes of the variables, or None if it refuses."""
    try:
        text = template.render(variables)
        text.encode()
        return text
    except Exception:  # of any type: a template can make Python raise most of them
        return None
