"""Lists the public API of a crate from the JSON of rustdoc, a line for each item, sorted.

    python3 .ci/api.py target/doc/eog_core.json

Everything that a user can name is a line with its whole signature: items, fields, variants, methods and the traits
that are implemented. Blanket and auto traits are left out, since they follow from the rest.
"""

import json
import sys

KNOWN = {33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57}


class Api:
    def __init__(self, doc):
        self.index, self.paths, self.lines = doc["index"], doc["paths"], set()
        self.seen = set()
        root = self.item(doc["root"])
        self.module(root, root["name"])

    def item(self, id):
        return self.index.get(str(id))

    # Items.

    def module(self, module, path):
        if (module["id"], path) in self.seen:
            return
        self.seen.add((module["id"], path))
        for id in module["inner"]["module"]["items"]:
            item = self.item(id)
            if item is None or item["visibility"] != "public":
                continue
            kind, inner = next(iter(item["inner"].items()))
            if kind == "use":
                self.reexport(inner, path)
            else:
                self.named(item, kind, inner, f"{path}::{item['name']}")

    def reexport(self, use, path):
        target = self.item(use["id"]) if use.get("id") is not None else None
        if target is None:
            glob = "::*" if use["is_glob"] else ""
            self.add(f"pub use {path}::{use['name']} = {use['source']}{glob}")
        elif use["is_glob"]:
            kind, inner = next(iter(target["inner"].items()))
            if kind == "module":
                self.module(target, path)
            elif kind == "enum":
                for id in inner["variants"]:
                    self.variant(self.item(id), path)
        else:
            kind, inner = next(iter(target["inner"].items()))
            self.named(target, kind, inner, f"{path}::{use['name']}")

    def named(self, item, kind, inner, path):
        if kind == "module":
            self.add(f"pub mod {path}")
            return self.module(item, path)
        if (item["id"], path) in self.seen:
            return
        self.seen.add((item["id"], path))
        render = getattr(self, kind, None)
        if render is None:
            return self.add(f"pub {kind} {path}")
        mark = " #[non_exhaustive]" if "non_exhaustive" in json.dumps(item["attrs"]) else ""
        render(inner, path, mark)

    def struct(self, inner, path, mark):
        shape = inner["kind"]
        self.add(f"pub struct {path}{self.generics(inner['generics'])}{mark}")
        if isinstance(shape, dict):
            fields = shape.get("plain", {}).get("fields") or shape.get("tuple") or []
            self.fields(fields, path)
        self.impls(inner["impls"], path)

    def union(self, inner, path, mark):
        self.add(f"pub union {path}{self.generics(inner['generics'])}{mark}")
        self.fields(inner["fields"], path)
        self.impls(inner["impls"], path)

    def fields(self, ids, path):
        for id in ids:
            field = self.item(id) if id is not None else None
            if field and field["visibility"] in ("public", "default"):
                self.add(f"pub {path}::{field['name']}: {self.type(field['inner']['struct_field'])}")

    def enum(self, inner, path, mark):
        self.add(f"pub enum {path}{self.generics(inner['generics'])}{mark}")
        for id in inner["variants"]:
            self.variant(self.item(id), path)
        self.impls(inner["impls"], path)

    def variant(self, variant, path):
        shape = variant["inner"]["variant"]["kind"]
        path = f"{path}::{variant['name']}"
        if isinstance(shape, dict) and "tuple" in shape:
            parts = [self.item(id) for id in shape["tuple"] if id is not None]
            types = ", ".join(self.type(part["inner"]["struct_field"]) for part in parts if part)
            return self.add(f"pub {path}({types})")
        self.add(f"pub {path}")
        if isinstance(shape, dict):
            self.fields(shape["struct"]["fields"], path)

    def trait(self, inner, path, mark):
        bounds = self.bounds(inner["bounds"])
        self.add(f"pub trait {path}{self.generics(inner['generics'])}{': ' if bounds else ''}{bounds}{mark}")
        self.members(inner["items"], path, True)

    def function(self, inner, path, _mark):
        self.add(self.signature(inner, path))

    def constant(self, inner, path, _mark):
        self.add(f"pub const {path}: {self.type(inner['type'])}")

    def static(self, inner, path, _mark):
        self.add(f"pub static {path}: {self.type(inner['type'])}")

    def type_alias(self, inner, path, _mark):
        self.add(f"pub type {path}{self.generics(inner['generics'])} = {self.type(inner['type'])}")

    def macro(self, _inner, path, _mark):
        self.add(f"pub macro {path}!")

    def impls(self, ids, path):
        for id in ids:
            item = self.item(id)
            if item is None:
                continue
            of = item["inner"]["impl"]
            if of["is_synthetic"] or of["blanket_impl"] is not None:
                continue
            if of["trait"] is None:
                self.members(of["items"], path, False)
            else:
                kind = "!" if of["is_negative"] else ""
                generics = self.generics(of["generics"])
                of_whom = self.type(of["for"]).replace(path.rsplit("::", 1)[-1], path, 1)
                self.add(f"impl{generics} {kind}{self.path(of['trait'])} for {of_whom}")

    def members(self, ids, path, all_public):
        for id in ids:
            member = self.item(id)
            if member is None or not (all_public or member["visibility"] == "public"):
                continue
            kind, inner = next(iter(member["inner"].items()))
            where = f"{path}::{member['name']}"
            if kind == "function":
                default = " { … }" if all_public and inner["has_body"] else ""
                self.add(self.signature(inner, where) + default)
            elif kind == "assoc_const":
                self.add(f"pub const {where}: {self.type(inner['type'])}")
            elif kind == "assoc_type":
                bounds = self.bounds(inner["bounds"])
                self.add(f"pub type {where}{': ' if bounds else ''}{bounds}")

    def add(self, line):
        self.lines.add(line)

    # Types.

    def signature(self, function, path):
        head, sig = function["header"], function["sig"]
        words = [word for word in ("const", "async", "unsafe") if head.get(f"is_{word}")]
        inputs = []
        for name, type in sig["inputs"]:
            text = self.type(type)
            by_self = {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}
            inputs.append(by_self.get(text, f"self: {text}") if name == "self" else f"{name}: {text}")
        output = f" -> {self.type(sig['output'])}" if sig["output"] is not None else ""
        generics = self.generics(function["generics"])
        return f"pub {' '.join(words + ['fn'])} {path}{generics}({', '.join(inputs)}){output}"

    def generics(self, generics):
        params = []
        for param in generics["params"]:
            kind, inner = next(iter(param["kind"].items()))
            if kind == "type" and not inner["is_synthetic"]:
                bounds = self.bounds(inner["bounds"])
                params.append(param["name"] + (f": {bounds}" if bounds else ""))
            elif kind == "const":
                params.append(f"const {param['name']}: {self.type(inner['type'])}")
            elif kind == "lifetime":
                params.append(param["name"])
        wheres = []
        for where in generics["where_predicates"]:
            kind, inner = next(iter(where.items()))
            if kind == "bound_predicate":
                wheres.append(f"{self.type(inner['type'])}: {self.bounds(inner['bounds'])}")
            elif kind == "lifetime_predicate":
                wheres.append(f"{inner['lifetime']}: {' + '.join(inner['outlives'])}")
        text = f"<{', '.join(params)}>" if params else ""
        return text + (f" where {', '.join(wheres)}" if wheres else "")

    def bounds(self, bounds):
        words = []
        for bound in bounds:
            kind, inner = next(iter(bound.items()))
            if kind == "trait_bound":
                sign = {"maybe": "?", "none": ""}.get(inner["modifier"], "~const ")
                words.append(sign + self.path(inner["trait"]))
            elif kind == "outlives":
                words.append(inner)
            else:
                words.append(kind)
        return " + ".join(words)

    def path(self, path):
        known = self.paths.get(str(path["id"])) if path.get("id") is not None else None
        name = "::".join(known["path"]) if known else path.get("path") or path.get("name")
        return name + self.args(path.get("args"))

    def args(self, args):
        if not args:
            return ""
        if "parenthesized" in args:
            given = args["parenthesized"]
            output = f" -> {self.type(given['output'])}" if given["output"] is not None else ""
            return f"({', '.join(self.type(type) for type in given['inputs'])}){output}"
        given = args.get("angle_bracketed")
        if not given:
            return ""
        words = []
        for arg in given["args"]:
            kind, inner = next(iter(arg.items())) if isinstance(arg, dict) else (arg, None)
            if kind == "type":
                words.append(self.type(inner))
            elif kind == "lifetime":
                words.append(inner)
            elif kind == "const":
                words.append(str(inner.get("value") or inner.get("expr")))
            else:
                words.append("_")
        for constraint in given.get("constraints", []):
            binding = constraint["binding"]
            if "equality" in binding:
                term = binding["equality"]
                term = self.type(term["type"]) if "type" in term else str(term.get("constant"))
                words.append(f"{constraint['name']} = {term}")
            else:
                words.append(f"{constraint['name']}: {self.bounds(binding['constraint'])}")
        return f"<{', '.join(words)}>" if words else ""

    def type(self, type):
        if type is None:
            return "()"
        if isinstance(type, str):
            return type
        kind, inner = next(iter(type.items()))
        if kind == "resolved_path":
            return self.path(inner)
        if kind in ("generic", "primitive"):
            return inner
        if kind == "borrowed_ref":
            life = f"{inner['lifetime']} " if inner["lifetime"] else ""
            change = "mut " if inner["is_mutable"] else ""
            return f"&{life}{change}{self.type(inner['type'])}"
        if kind == "tuple":
            return f"({', '.join(self.type(one) for one in inner)})"
        if kind == "slice":
            return f"[{self.type(inner)}]"
        if kind == "array":
            return f"[{self.type(inner['type'])}; {inner['len']}]"
        if kind == "impl_trait":
            return f"impl {self.bounds(inner)}"
        if kind == "dyn_trait":
            traits = [self.path(one["trait"]) for one in inner["traits"]]
            life = [inner["lifetime"]] if inner["lifetime"] else []
            return f"dyn {' + '.join(traits + life)}"
        if kind == "qualified_path":
            of = f" as {self.path(inner['trait'])}" if inner["trait"] else ""
            return f"<{self.type(inner['self_type'])}{of}>::{inner['name']}"
        if kind == "function_pointer":
            sig = inner["sig"]
            output = f" -> {self.type(sig['output'])}" if sig["output"] is not None else ""
            return f"fn({', '.join(self.type(type) for _, type in sig['inputs'])}){output}"
        if kind == "raw_pointer":
            return f"*{'mut' if inner['is_mutable'] else 'const'} {self.type(inner['type'])}"
        return kind


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        doc = json.load(file)
    if doc["format_version"] not in KNOWN:
        sys.exit(f"the JSON of this rustdoc has format {doc['format_version']}, which is not known")
    print("\n".join(sorted(Api(doc).lines)))


main()
