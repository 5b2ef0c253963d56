/**
 * The form of a patch as a Lark grammar, for models that call the tool with a text. It describes what models should write; the parser
 * accepts more. Source: agent-core.md 8.9.
 */
export const GRAMMAR = String.raw`start: "*** Begin Patch" LF section+ "*** End Patch" LF?

section: addition | deletion | update
addition: "*** Add File: " PATH LF ADDED_LINE*
deletion: "*** Delete File: " PATH LF
update: "*** Update File: " PATH LF (changes | "*** Move to: " PATH LF changes?)

changes: (lines | placed) placed*
placed: PLACE+ lines
lines: LINE+ LAST?

PATH: /[^\n]+/
ADDED_LINE: /\+[^\n]*\n/
LINE: /[ +-][^\n]*\n/
PLACE: /@@( [^\n]*)?\n/
LAST: "*** End of File\n"
LF: "\n"
`
