import fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventLog } from './event-log.ts'
import { type LiveOutput, withOutput } from './outputs.ts'

const frame = (offset: number, text: string) => ({ type: 'output', action_id: 'a', stream: 'stdout', offset, text })

it('pieces that are repeated after a new connection give the output once', () => {
  const output = 'line of a command\n'.repeat(20)
  const cuts = fc.array(fc.tuple(fc.nat(output.length), fc.nat(40)), { maxLength: 30 })
  fc.assert(
    fc.property(cuts, (repeated) => {
      let known: LiveOutput | undefined
      let end = 0
      for (const [from, length] of [...repeated, [0, output.length] as const]) {
        const offset = Math.min(from, end)
        known = withOutput(known, frame(offset, output.slice(offset, end + length)))
        end = Math.min(output.length, end + length)
        expect(known).toEqual({ text: output.slice(0, end), skipped: 0 })
      }
    }),
  )
})

it('a client that joins late knows how much it did not get, and pieces with a gap are not joined', () => {
  const late = withOutput(undefined, frame(70_000, 'b\n'))
  expect(withOutput(late, frame(70_002, 'c\n'))).toEqual({ text: 'b\nc\n', skipped: 70_000 })
  expect(withOutput(late, frame(70_010, 'd\n'))).toEqual({ text: 'd\n', skipped: 70_010 })
})

it('a restarted server sends the output from its beginning', () => {
  const late = withOutput(undefined, frame(70_000, 'end\n'))
  expect(withOutput(late, frame(0, 'begin\n'))).toEqual({ text: 'begin\n', skipped: 0 })
})

it('the memory of a long output is bounded, and it begins with a whole line', () => {
  let known: LiveOutput | undefined
  let end = 0
  for (let count = 0; count < 5_000; count++) {
    const line = `line ${count} ${'x'.repeat(90)}\n`
    known = withOutput(known, frame(end, line))
    end += line.length
    expect(known.text.length).toBeLessThanOrEqual(131_072)
    expect(known.text.startsWith('line ')).toBe(true)
    expect(known.skipped + known.text.length).toBe(end)
  }
})

it('the stored result replaces the output of its call', () => {
  const log = new EventLog(() => 0)
  log.take([frame(0, 'one\n'), { ...frame(0, 'other\n'), action_id: 'b' }])
  expect([log.output('a')?.text, log.output('b')?.text]).toEqual(['one\n', 'other\n'])
  const event = { kind: 'ObservationEvent', id: 'o', timestamp: '2026-01-01T00:00:00', action_id: 'a' }
  log.take([{ type: 'event', seq: 2, event }])
  expect([log.output('a'), log.output('b')?.text]).toEqual([undefined, 'other\n'])
})
