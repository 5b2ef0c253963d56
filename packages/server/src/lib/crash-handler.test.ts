import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MODULE = JSON.stringify(fileURLToPath(new URL('crash-handler.ts', import.meta.url)))

test.each([
  ['a thrown error', 'throw new TypeError("the-message")', 'TypeError'],
  ['a rejected promise', 'Promise.reject(new RangeError("the-message"))', 'RangeError'],
])('%s ends the process with code 1 and one line without its message', (_, code, type) => {
  const script = `const { endOnCrash } = await import(${MODULE}); endOnCrash(); ${code}; setInterval(() => 0, 1000)`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(JSON.parse(stderr)).toMatchObject({
    level: 60,
    err: { type },
    msg: expect.stringMatching(/^server stopped: /),
  })
  expect(stderr).not.toContain('the-message')
})
