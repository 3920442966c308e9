"""Random JSON schemas of the kinds that voltpile supports."""

import random

NAMES = ["a", "b", "name", "é", "x y", 'q"', "n\n", "long_property_name", "/~", "日"]
PATTERNS = [r"^[a-z]+$", r"^\d{3}-\d{2}$", "b", "^(foo|bar)", "[A-F0-9]{4}$", "^.{2,5}$", '^"[^"]*"$', r"^(é|\n|\\)+$", "^$|^x"]
FORMATS = ["date", "date-time", "uuid", "email", "ipv4", "hostname", "duration"]
VALUES = ["a", 'b"', "é", 1, 2.5, None, True, {"k": [1, "x"]}, [], "\u2028"]


class RandomSchemas:
    """most_text: the most characters of strings that are not a pattern or a format."""

    def __init__(self, seed, most_text=8):
        self.random = random.Random(seed)
        self.most_text = most_text
        self.references = []

    def name(self):
        return self.random.choice(NAMES) + self.random.choice(["", "1", "2"])

    def chance(self, probability):
        return self.random.random() < probability

    def integer(self):
        schema, low = {"type": "integer"}, self.random.randint(-2000, 2000)
        if self.chance(0.5):
            schema[self.random.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(0.5):
            schema[self.random.choice(["maximum", "exclusiveMaximum"])] = low + self.random.choice([2, 3, 10, 997, 123456])
        return schema

    def string(self):
        kind = self.random.random()
        if kind < 0.5:
            low = self.random.randint(0, 4)
            return {"type": "string", "minLength": low, "maxLength": low + self.random.randint(0, self.most_text)}
        if kind < 0.75:
            return {"type": "string", "pattern": self.random.choice(PATTERNS), "maxLength": 12}
        return {"type": "string", "format": self.random.choice(FORMATS)}

    def scalar(self):
        kind = self.random.randrange(8)
        if kind < 2:
            return self.string()
        if kind == 2:
            return self.integer()
        if kind == 3:
            return {"type": self.random.sample(["integer", "null", "boolean"], 2)}
        if kind == 4:
            return {"enum": self.random.sample(VALUES, 3)}
        if kind == 5:
            return {"const": self.random.choice(["x", 3, None, {"z": 1, "a": 2}])}
        return {"type": self.random.choice(["number", "boolean", "null"])}

    def object(self, depth):
        properties = {}
        for _ in range(self.random.randint(0, 4)):
            properties[self.name()] = self.schema(depth - 1)
        schema = {"type": "object", "properties": properties,
                  "required": [name for name in properties if self.chance(0.5)]}
        if self.chance(0.5):
            schema["additionalProperties"] = False
        elif self.chance(0.1):
            schema["required"].append("extra")
        if self.chance(0.3):
            schema |= {"title": "T", "description": "d"}
        return schema

    def array(self, depth):
        low = self.random.randint(0, 2)
        schema = {"type": "array", "items": self.schema(depth - 1), "minItems": low,
                  "maxItems": low + self.random.randint(0, 3)}
        if self.chance(0.3):
            schema["prefixItems"] = [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]
        return schema

    def schema(self, depth):
        kind = self.random.random()
        if self.references and kind < 0.08:
            return {"$ref": "#/$defs/" + self.random.choice(self.references)}
        if depth <= 0 or kind < 0.45:
            return self.scalar()
        if kind < 0.7:
            return self.object(depth)
        if kind < 0.85:
            return self.array(depth)
        if kind < 0.92:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]}
        if kind < 0.96:
            return {"allOf": [{"type": "object", "properties": {"p": self.schema(0)}, "required": ["p"]},
                              {"properties": {"q": self.schema(0), "p": True}}]}
        return {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "v": self.schema(depth - 1)},
                           "required": ["kind", "v"]},
                          {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}, {"type": "null"}]}

    def next(self):
        """Returns a schema, some with recursive definitions."""
        self.references, definitions = [], {}
        if self.chance(0.3):
            definitions["s"] = self.scalar()
            definitions["node"] = {
                "type": "object", "required": ["next"], "additionalProperties": False,
                "properties": {"v": self.scalar(), "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}
            self.references = ["node", "s"]
        schema = self.object(2)
        if definitions:
            schema["properties"]["tree"] = {"$ref": "#/$defs/node"}
            schema["$defs"] = definitions
        return schema
