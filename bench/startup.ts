import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../packages/server/testing/free-port.ts'
import { TEST_KEY } from '../packages/server/testing/server-process.ts'
import { tempDir } from '../packages/server/testing/temp.ts'
import { entry, median, residentMb } from './harness.ts'

const ROUNDS = 9

/** Time from process start to the first answered request, and resident memory at that moment. */
export async function startup(): Promise<Record<string, number>> {
  await using dir = await tempDir()
  const times: number[] = []
  const sizes: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const port = await freePort()
    const from = performance.now()
    const child = spawn(
      process.execPath,
      [...entry(), 'serve', '--port', String(port), '--data-dir', dir.file('data')],
      {
        stdio: 'ignore',
        env: {
          PATH: process.env['PATH'],
          HOME: process.env['HOME'],
          PARLEY_SESSION_API_KEYS: TEST_KEY,
          PARLEY_ALLOW_ROOT: 'true',
          PARLEY_SANDBOX: 'off',
        },
      },
    )
    const exited = once(child, 'exit')
    await firstAnswer(`http://127.0.0.1:${port}/api/conversations/count`)
    times.push(performance.now() - from)
    sizes.push(await residentMb(child.pid!))
    child.kill('SIGTERM')
    await exited
  }
  // The first start fills the compile cache.
  const warm = times.slice(1)
  return {
    'start to first answer, p50 (ms)': median(warm),
    'start to first answer, best (ms)': Math.min(...warm),
    'idle memory after start (MB)': median(sizes),
  }
}

async function firstAnswer(url: string): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(url, { headers: { 'X-Session-API-Key': TEST_KEY } })
      await response.text()
      if (response.ok) return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}
