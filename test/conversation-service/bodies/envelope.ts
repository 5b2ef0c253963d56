/** Failures of a whole body, for any endpoint. */
import { malformed, missing, modelType, type Row } from './say.ts'

const faults: [text: string, offset: number, reason: string][] = [
  ['{"a":', 5, 'Expecting value'],
  ['{"a": tru}', 6, 'Expecting value'],
  ['[1,', 3, 'Expecting value'],
  ['   ', 3, 'Expecting value'],
  ['{a:1}', 1, 'Expecting property name enclosed in double quotes'],
  ["{'a':1}", 1, 'Expecting property name enclosed in double quotes'],
  ['{"a":1,}', 7, 'Expecting property name enclosed in double quotes'],
  ['{"a" 1}', 5, "Expecting ':' delimiter"],
  ['{"a":1', 6, "Expecting ',' delimiter"],
  ['{"a":1 "b":2}', 7, "Expecting ',' delimiter"],
  ['{"a":1} x', 8, 'Extra data'],
  ['01', 1, 'Extra data'],
  ['"', 0, 'Unterminated string starting at'],
  ['{"a":"\n"}', 6, 'Invalid control character at'],
  ['"\\x"', 1, 'Invalid \\escape'],
  ['"\\u12"', 2, 'Invalid \\uXXXX escape'],
  // Offsets count characters, of which an emoji is one.
  ['{"😀":"😀" 1}', 9, "Expecting ',' delimiter"],
]

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const UNREADABLE = { status: 400, json: { detail: 'There was an error parsing the body' } }

/** For each of the five endpoints, because all of them expect one JSON object. */
export const envelope: Row[] = [
  { name: 'no body', body: '', detail: [missing([], null)] },
  { name: 'null', body: 'null', detail: [missing([], null)] },
  ...faults.map(([text, offset, reason]): Row => ({ name: text, body: text, detail: [malformed(offset, reason)] })),
  ...['[]', '[{}]', '"text"', '5', 'true', 'false'].map((text): Row => ({
    name: text,
    body: text,
    detail: [modelType([], JSON.parse(text))],
  })),
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx'].map(
    (contentType): Row => ({ name: contentType, body: '{"x":1}', contentType, detail: [modelType([], '{"x":1}')] }),
  ),
  { name: 'bytes that are no text', body: Buffer.from([0x7b, 0xff, 0x7d]), ...UNREADABLE },
  { name: 'half a character', body: Buffer.from('{"a":"\u00e4"}').subarray(0, 7), ...UNREADABLE },
  { name: 'nested beyond reason', body: deep(100_000), ...UNREADABLE },
  { name: 'nested beyond reason inside a member', body: `{"a":${deep(5000)}}`, ...UNREADABLE },
]
