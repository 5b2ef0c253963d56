import { readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until `holds` says yes. Looks often, because there is no event for what is watched here. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come true within ${timeoutMs} ms: ${holds.toString()}`)
    await sleep(20)
  }
}

export type Found = { pid: number; command: string; isRunner: boolean }

/** Where a test keeps everything of its own. */
const ownPlace = (path: string): string => /^.*?\/parley-[^/]+/.exec(path)?.[0] ?? path

/**
 * Processes of this test whose command line holds `text`, or whose working directory is below it. Other tests run beside it, with the
 * same commands: those that count name the test's own place in their command line, their directory or their environment.
 */
export async function processesOf(dataDir: string, text: string): Promise<Found[]> {
  const place = ownPlace(dataDir)
  const found: Found[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const read = (file: string) => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '')
    const command = (await read('cmdline')).replaceAll('\0', ' ')
    const cwd = await readlink(`/proc/${name}/cwd`).catch(() => '')
    if (!command.includes(text) && !cwd.startsWith(text)) continue
    if (command.includes(' serve ')) continue
    if (![command, cwd, await read('environ')].some((where) => where.includes(place))) continue
    found.push({ pid: Number(name), command, isRunner: command.includes('runner') && command.includes(dataDir) })
  }
  return found
}
