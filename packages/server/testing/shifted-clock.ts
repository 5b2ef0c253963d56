/**
 * Loaded into a server with `--import`: its clock is `PARLEY_TEST_CLOCK` milliseconds ahead, as that file says when the process starts,
 * and from each SIGUSR2 on. Timers and `performance.now` do not depend on the clock, as when a real one is set.
 */
import { readFileSync } from 'node:fs'

const RealDate = Date
const file = process.env['PARLEY_TEST_CLOCK']!
let shiftMs = 0

function read(): void {
  shiftMs = Number(readFileSync(file, 'utf8'))
}

const now = (): number => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})

read()
process.on('SIGUSR2', read)
