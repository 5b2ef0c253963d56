import { expect, test } from 'vitest'
import { run } from '../../packages/cli/src/testing/parley.ts'
import { command, startBench } from './terminal.ts'

const READY = /\/help shows commands/

test('Ctrl-C while an approval waits leaves at the second press, and the resumed session asks the question again', async () => {
  await using bench = await startBench([command('First.', 'echo made > made'), { text: 'Made.' }])
  await using _server = await bench.serve()
  await using first = bench.open(['--confirm', 'always'])
  await first.shows(READY)
  first.type('begin\r')
  await first.shows(/y approve once/)
  first.type('\u0003')
  await first.shows(/Ctrl\+C again leaves/)
  first.type('\u0003')
  expect(await first.exit()).toBe(0)
  const [, id] = /parley --resume ([0-9a-f]{8})/.exec(first.lines().join('\n')) ?? []
  await using second = bench.open(['--resume', id!])
  await second.shows(/\$ echo made > made[\s\S]*y approve once/)
  await second.press('y', /Made\./)
})

test('a failed model is reported in whole sentences in a narrow terminal', async () => {
  const reason = `the model has no answer today because ${'of many words '.repeat(4)}and the end`
  await using bench = await startBench([{ error: reason }])
  await using _server = await bench.serve()
  await using parley = bench.open([], { cols: 40 })
  await parley.shows(/help/)
  parley.type('begin\r')
  await parley.shows(/and\s+the\s+end/)
  expect(Math.max(...parley.lines().map((line) => line.length))).toBeLessThanOrEqual(40)
})

test('a session without a terminal, and an id that names no conversation, are refused with the remedy', async () => {
  await using bench = await startBench([])
  await using _server = await bench.serve()
  const options = { dataDir: bench.dataDir, cwd: bench.work }
  const piped = await run(['--continue'], options, 'hello\n')
  expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining('for a pipe, use: parley run')])
  const unknown = bench.open(['--resume', '00000000'])
  expect(await unknown.exit()).toBe(2)
  expect(unknown.lines()[0]).toMatch(/no conversation has an id that begins with/)
  const none = bench.open(['--continue'])
  expect(await none.exit()).toBe(1)
  expect(none.lines()[0]).toMatch(/this directory has no conversation to continue/)
})
