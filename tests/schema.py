"""Checks a JSON document against a schema: the part of JSON Schema draft 7 that docs/schema*.json use."""
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "const", "enum", "required", "properties", "additionalProperties",
         "propertyNames", "items", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "minLength", "pattern",
         "oneOf", "anyOf", "dependencies", "definitions", "$ref"}


def is_a(value, kind):
    if kind == "integer":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def violations(value, schema, root=None, where="$"):
    """Sentences about what is wrong; empty if the value is valid. A keyword that is not supported here is wrong, too."""
    root = root or schema
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return violations(value, target, root, where)
    wrong = [f"{where}: the schema uses {word}, which tests/schema.py does not support" for word in set(schema) - KNOWN]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        return wrong + [f"{where}: {value!r:.60} is not of type {' or '.join(kinds)}"]
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{where}: {value!r:.60} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where}: {value!r:.60} is not one of {schema['enum']}")
    if is_a(value, "number"):
        for word, fine in (("minimum", lambda x, m: x >= m), ("maximum", lambda x, m: x <= m), ("exclusiveMinimum", lambda x, m: x > m)):
            if word in schema and not fine(value, schema[word]):
                wrong.append(f"{where}: {value} violates {word} {schema[word]}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            wrong.append(f"{where}: the text is too short")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            wrong.append(f"{where}: {value!r:.60} does not match {schema['pattern']}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            wrong.append(f"{where}: {len(value)} items")
        for number, item in enumerate(value if "items" in schema else []):
            wrong += violations(item, schema["items"], root, f"{where}[{number}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        wrong += [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, needs in schema.get("dependencies", {}).items():
            wrong += [f"{where}: has {name} but not {need}" for need in needs if name in value and need not in value]
        for name, item in value.items():
            if "propertyNames" in schema:
                wrong += violations(name, schema["propertyNames"], root, f"{where}: name {name}")
            more = schema.get("additionalProperties", True)
            if name in properties:
                wrong += violations(item, properties[name], root, f"{where}.{name}")
            elif more is False:
                wrong.append(f"{where}: {name} is not in the schema")
            elif isinstance(more, dict):
                wrong += violations(item, more, root, f"{where}.{name}")
    for word, fine in (("oneOf", lambda n: n == 1), ("anyOf", lambda n: n > 0)):
        if word in schema:
            valid = sum(not violations(value, each, root, where) for each in schema[word])
            if not fine(valid):
                wrong.append(f"{where}: {valid} alternatives of {word} hold")
    return wrong
