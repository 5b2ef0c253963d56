import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { never, openTestWorkspaces } from './workspace.testing.ts'

const MAIN = fileURLToPath(new URL('./runner/main.ts', import.meta.url))

/** A runner that is killed during its first starts. */
const killed = (starts: string, times: number): string => `
  import { appendFileSync, readFileSync } from 'node:fs'
  appendFileSync(${JSON.stringify(starts)}, 'x')
  if (readFileSync(${JSON.stringify(starts)}).length <= ${times}) process.kill(process.pid, 'SIGKILL')
  else await import(${JSON.stringify(MAIN)})
`

test('a runner that is killed while it starts is started again, a few times', async () => {
  for (const [times, isStarted] of [
    [2, true],
    [1_000, false],
  ] as const) {
    await using dir = await tempDir()
    const [starts, runnerEntry] = [dir.file('starts'), dir.file('runner.mjs')]
    writeFileSync(runnerEntry, killed(starts, times))
    await using here = await openTestWorkspaces({ runnerEntry })
    const result = (await here.open()).exec({ argv: ['true'] }, never)
    if (isStarted) expect(await result).toMatchObject({ exit_code: 0 })
    else await expect(result).rejects.toMatchObject({ code: 'unavailable' })
    expect(readFileSync(starts, 'utf8')).toBe('x'.repeat(isStarted ? times + 1 : 5))
  }
})
