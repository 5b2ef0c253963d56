import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { describeUnanswered } from './faults/unanswered.ts'

/** A program that waits in one function and works in another, until it is killed. `again` starts the next round of work. */
const program = (again: string) => `
  async function waitsForEver() { await new Promise((resolve) => { globalThis.kept = resolve }) }
  function works() { for (const end = performance.now() + 50; performance.now() < end;) globalThis.done = Math.random() }
  async function round() { works(); ${again} }
  console.error('ready')
  waitsForEver()
  round()
`

async function described(again: string, answerMs?: number) {
  await using dir = await tempDir()
  const child = spawn(process.execPath, ['--inspect-port=0', '-e', program(again)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  try {
    await once(child.stderr, 'data')
    const lines = await describeUnanswered({ process: child, stderr: () => errors }, dir.path, answerMs)
    return { text: lines.join('\n'), hasProfile: existsSync(dir.file('unanswered.cpuprofile')) }
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

test('the description of a server names the functions that use its thread, and those that wait', async () => {
  const { text, hasProfile } = await described('setImmediate(round)')
  expect(text).toMatch(/samples of the thread[^]*works \S*:\d+ < round/)
  expect(text).toMatch(/suspended functions:[^]*waitsForEver, line \d+/)
  expect(hasProfile).toBe(true)
})

test('a server whose thread never waits is described by its stacks alone', async () => {
  const { text } = await described('await null; return round()', 3_000)
  expect(text).toMatch(/samples of the thread[^]*works \S*:\d+ < round/)
  expect(text).toContain('HeapProfiler.takeHeapSnapshot: no answer of the inspector')
})
