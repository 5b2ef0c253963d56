import { closeSync, existsSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { boundedLog } from './bounded-log.ts'

test('the log of the runner contains the newest lines and never exceeds its bound', async () => {
  await using dir = await tempDir()
  const path = dir.file('runner.log')
  const fd = openSync(path, 'a')
  const log = boundedLog(fd, 1_000)
  for (let n = 0; n < 100; n++) {
    log(`line ${n}`)
    const text = await readFile(path, 'utf8')
    expect(text.length).toBeLessThanOrEqual(1_000)
    expect(text).toMatch(new RegExp(`\\] line ${n}\\n$`))
  }
  log('x'.repeat(5_000))
  expect((await readFile(path)).length).toBe(1_000)
  closeSync(fd)
})

test.runIf(existsSync('/dev/full'))('a line that a full disk refuses is dropped, and nothing is thrown', () => {
  const fd = openSync('/dev/full', 'a')
  expect(() => boundedLog(fd, 1024)('a line')).not.toThrow()
  closeSync(fd)
})
