import { expect, test } from 'vitest'
import { normalised } from './normalise.ts'
import { differenceOf, outcome, outcomeOf, viewedLines } from './outcome.ts'
import { moveInJson, movePaths, movesTo } from './moves.ts'
import type { Recording } from './recording.ts'

const text = (text: string) => [{ type: 'text' as const, text, cache_prompt: false }]

test.each<[one: string, other: string]>([
  ['[1] 4711', '[1] 815'],
  ['said', 'said\n[1]+  Done                    sleep 0'],
  ['done in 1.25s', 'done in 983ms'],
  ['ok 3 - adds (0.5 ms)', 'ok 3 - adds (12 ms)'],
  ['2026-11-21T10:00:00.123Z start', '2027-01-02T23:59:59+01:00 start'],
  ['-rw-r--r-- 1 me me 3 Nov 21 10:31 a', '-rw-r--r-- 1 me me 3 Jan  2  2027 a'],
  ['real\t0m1.204s', 'real\t0m0.900s'],
  ['wrote /tmp/tmp.AbC123/x', 'wrote /tmp/tmp.ZyX987/x'],
  ['[main 1a2b3c4] mine', '[main 9f8e7d6] mine'],
  ['server with PID 123 is up', 'server with PID 4567 is up'],
  ['a  \r\nb\n', 'a\nb'],
])('%j and %j are equal after normalisation', (one, other) => {
  expect(normalised(one, [])).toBe(normalised(other, []))
})

test.each<[one: string, other: string]>([
  ['3 passed', '4 passed'],
  ['exit 1', 'exit 2'],
  ['/tmp/a/x', '/tmp/a/y'],
  ['version 1.2.3', 'version 1.2.4'],
])('%j and %j differ after normalisation', (one, other) => {
  expect(normalised(one, [])).not.toBe(normalised(other, []))
})

const terminal = (output: string, exit_code: number, pid = -1) =>
  outcomeOf({
    kind: 'TerminalObservation',
    content: text(output),
    is_error: false,
    exit_code,
    metadata: { exit_code, pid },
  })

test('exit code, output, file and error are compared, and unknown members are not', () => {
  expect(differenceOf(terminal('a', 0), terminal('a', 0), [])).toBeNull()
  expect(differenceOf(terminal('a', 0), terminal('b', 1), [])).toEqual({
    kind: 'exit_code',
    expected: '0',
    actual: '1',
  })
  expect(differenceOf(terminal('x 41 y', 0, 41), terminal('x 43 y', 0, 43), [])).toBeNull()
  expect(differenceOf(terminal('x 41 y', 0), terminal('x 43 y', 0), [])).toMatchObject({ kind: 'output' })
  expect(differenceOf(outcome({ file: 'a' }), outcome({ file: 'b' }), [])).toMatchObject({ kind: 'file' })
  expect(differenceOf(outcome({ file: 'a' }), outcome({}), [])).toBeNull()
  expect(differenceOf(outcome({}), outcome({ error: true }), [])).toMatchObject({ kind: 'error', expected: 'no error' })
  expect(differenceOf(outcome({ refused: true }), outcome({ output: 'x' }), [])).toMatchObject({ kind: 'refused' })
})

test('a long difference is cut to the text around its beginning', () => {
  const found = differenceOf(
    outcome({ output: `${'a'.repeat(5000)}x` }),
    outcome({ output: `${'a'.repeat(5000)}y` }),
    [],
  )
  expect(found?.expected).toBe(`…${'a'.repeat(100)}x`)
  expect(found?.actual).toBe(`…${'a'.repeat(100)}y`)
  expect(differenceOf(outcome({ output: '' }), outcome({ output: 'b'.repeat(5000) }), [])?.actual).toHaveLength(601)
})

test('the lines of a viewed file are found without heading and numbers', () => {
  expect(viewedLines('/w/a.txt, as `cat -n` shows it:\n     1\tone\n     2\ttwo')).toBe('one\ntwo')
  expect(viewedLines("Here's the result of running `cat -n` on /w/a.txt:\n     1\tone\n     2\ttwo")).toBe('one\ntwo')
  expect(viewedLines('one\ntwo')).toBe('one\ntwo')
})

const recording = (working_dir: string | null, said = ''): Recording => ({
  working_dir,
  turns: [{ by: 'agent', index: 1, text: said, reasoning: null, calls: [] }],
})

test('the recorded directory is replaced where it is a whole path or its beginning', () => {
  const moves = movesTo(recording('/old/w'), '/new')
  expect(movePaths('cd /old/w && cat "/old/w/a" /old/wide /x/old/w ./old/w /old/w-2. See /old/w.', moves)).toBe(
    'cd /new && cat "/new/a" /old/wide /x/old/w ./old/w /old/w-2. See /new.',
  )
  expect(moveInJson('{"path": "/old/w/a", "n": [1, "/old/w"]}', moves)).toBe('{"path":"/new/a","n":[1,"/new"]}')
  expect(moveInJson('{"path": "/old/w', moves)).toBe('{"path": "/new')
  expect(movePaths('$& /old/w', movesTo(recording('/old/w'), '/a$&b'))).toBe('$& /a$&b')
})

test('a clone below the root of the older format becomes the clone of the conversation, and its parent the parent', () => {
  const moves = movesTo(recording('/workspace', 'cd /workspace/shop'), '/data/c1/shop')
  expect(movePaths('/workspace/shop/a /workspace/b', moves)).toBe('/data/c1/shop/a /data/c1/b')
  expect(movesTo(recording('/workspace', 'cd /workspace/other'), '/data/c1')).toEqual([['/workspace', '/data/c1']])
  expect(movesTo(recording(null), '/new')).toEqual([])
  expect(movesTo(recording('/'), '/new')).toEqual([])
})
