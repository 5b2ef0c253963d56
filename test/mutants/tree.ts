/** A temporary copy of the repository, in which mutants are applied and tests run. The working tree is never changed. */
import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../source-files.ts'
import { mutated, type Mutant } from './mutant.ts'

/** Result of one test run. `isLate`: the time limit ended it. */
type TestRun = { code: number | null; tests: number; isLate: boolean; ms: number; output: string }

export type Tree = AsyncDisposable & {
  /** Runs test files and stops at the first failure. */
  test(files: readonly string[], limitMs: number): Promise<TestRun>
  /** Applies a change while `work` runs. */
  with<T>(file: string, mutant: Mutant, work: () => Promise<T>): Promise<T>
}

export async function copyTree(): Promise<Tree> {
  // A short path, because sockets lie below it.
  const base = await realpath(await mkdtemp(join(tmpdir(), 'pm-')))
  const tree = join(base, 'tree')
  await copySources(tree)
  await linkPackages(tree)
  let runs = 0
  return {
    async test(files, limitMs) {
      const temp = join(base, String((runs += 1)))
      await mkdir(temp)
      try {
        return await runTests(tree, temp, files, limitMs)
      } finally {
        endProcessesOf(base)
        await removeTree(temp)
      }
    },
    async with(file, mutant, work) {
      const path = join(tree, file)
      const source = await readFile(path, 'utf8')
      await writeFile(path, mutated(source, mutant))
      try {
        return await work()
      } finally {
        await writeFile(path, source)
      }
    },
    [Symbol.asyncDispose]: () => removeTree(base),
  }
}

/** Removes a folder, or reports that it stays: a process that a mutant let escape may still write there. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 }).catch((error: Error) =>
    console.log(`${path} stays: ${error.message}`),
  )
}

/** Copies the files that git knows or would add. */
async function copySources(tree: string): Promise<void> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).split('\0')
  for (const file of files.filter((name) => name !== '')) {
    const target = join(tree, file)
    await mkdir(dirname(target), { recursive: true })
    await copyFile(join(root, file), target).catch((error: NodeJS.ErrnoException) => {
      // Listed by git, and deleted in the working tree.
      if (error.code !== 'ENOENT') throw error
    })
  }
}

/** Links the installed packages. Our own packages are links into the copy, so that tests import the mutated sources. */
async function linkPackages(tree: string): Promise<void> {
  const [from, to] = [join(root, 'node_modules'), join(tree, 'node_modules')]
  await mkdir(join(to, '@parley'), { recursive: true })
  for (const name of await readdir(from))
    if (name !== '@parley' && name !== '.vite' && name !== '.vitest') await symlink(join(from, name), join(to, name))
  for (const name of await readdir(join(from, '@parley')))
    await symlink(join(tree, 'packages', name), join(to, '@parley', name))
}

function runTests(tree: string, temp: string, files: readonly string[], limitMs: number): Promise<TestRun> {
  const report = join(temp, 'report.json')
  const program = join(tree, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter', 'default', '--reporter', 'json', '--outputFile.json', report]
  const args = [program, 'run', '--root', tree, '--bail', '1', ...reporters, ...files]
  const started = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: tree,
    env: { ...process.env, TMPDIR: temp },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  let isLate = false
  const limit = setTimeout(() => {
    isLate = true
    process.kill(-child.pid!, 'SIGKILL')
  }, limitMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(limit)
      resolve({ code, tests: testsIn(report), isLate, ms: performance.now() - started, output })
    })
  })
}

/** Number of tests in a report; 0 without one. */
function testsIn(report: string): number {
  try {
    return (JSON.parse(readFileSync(report, 'utf8')) as { numTotalTests: number }).numTotalTests
  } catch {
    return 0
  }
}

/** Kills what an ended test run left: runner processes outlive their server, and their commands leave the process group. */
function endProcessesOf(base: string): void {
  if (process.platform !== 'linux') return
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))) {
    try {
      const texts = [readFileSync(`/proc/${pid}/cmdline`, 'utf8'), readFileSync(`/proc/${pid}/environ`, 'utf8')]
      if ([...texts, readlinkSync(`/proc/${pid}/cwd`)].some((text) => text.includes(base)))
        process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It ended meanwhile, or belongs to another user.
    }
  }
}
