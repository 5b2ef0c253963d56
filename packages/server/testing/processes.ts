import { readdir, readFile, readlink } from 'node:fs/promises'

type FoundProcess = { pid: number; command: string; isRunner: boolean }

/** Data directory of a test. */
const ownPlace = (path: string): string => /^.*?\/parley-[^/]+/.exec(path)?.[0] ?? path

/**
 * Processes of this test whose command line contains `text`, or whose working directory is below it. Other tests run the same commands
 * concurrently, so only processes count that name this test's directory in their command line, working directory or environment.
 */
export async function processesOf(dataDir: string, text: string): Promise<FoundProcess[]> {
  const place = ownPlace(dataDir)
  const found: FoundProcess[] = []
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
