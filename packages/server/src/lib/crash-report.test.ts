import { expect, test } from 'vitest'
import { crashReport } from './crash-report.ts'

const SECRET = 'sk-0123456789'
const asText = (value: unknown) => JSON.stringify(value)

test('a crash report contains the origin of an error, and neither its message nor its properties', () => {
  const cause = Object.assign(new Error(`connect with ${SECRET}`), { code: 'ECONNREFUSED', syscall: 'connect' })
  const error = Object.assign(new TypeError(`bad ${SECRET}`, { cause }), { headers: { authorization: SECRET } })
  const report = crashReport(error)
  expect(report).toMatchObject({
    type: 'TypeError',
    cause: { type: 'Error', code: 'ECONNREFUSED', syscall: 'connect' },
  })
  expect(report.frames[0]).toContain('crash-report.test.ts')
  expect(asText(report)).not.toContain(SECRET)
})

test.each<[string, unknown]>([
  ['a message with lines like frames', new Error(`x\n    at f (file:///${SECRET}:1:1)`)],
  [
    'a message that was changed later',
    Object.assign(new Error(`x\n    at f (file:///${SECRET}:1:1)`), { message: 'y' }),
  ],
  ['a changed stack', Object.assign(new Error('x'), { stack: `x\n    at ${SECRET}` })],
  ['a changed code and system call', Object.assign(new Error('x'), { code: SECRET, syscall: SECRET })],
  ['a name', Object.assign(new Error('x'), { name: SECRET })],
  ['a text', SECRET],
  ['an object', { message: SECRET, stack: SECRET }],
  ['a cause that is a text', new Error('x', { cause: SECRET })],
  ['no constructor', Object.assign(new Error('x'), { constructor: undefined })],
])('a crash report of %s contains no secret', (_what, thrown) => {
  expect(asText(crashReport(thrown))).not.toContain(SECRET)
})

test('the crash report of an error that is its own cause is finite', () => {
  const error = new Error('x')
  error.cause = error
  expect(asText(crashReport(error)).length).toBeLessThan(20_000)
})
