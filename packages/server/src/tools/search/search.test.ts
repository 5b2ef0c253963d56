import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asConversationId, type GlobObservation, type GrepObservation } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestWorkspaces, never, type TestWorkspaces } from '../../workspace/workspace.testing.ts'
import { globTool } from './glob-tool.ts'
import { grepTool } from './grep-tool.ts'
import type { ToolContext } from '../tool.ts'

const findProgram = (name: string) =>
  (process.env['PATH'] ?? '').split(':').find((dir) => existsSync(join(dir, name))) ?? null

const PROGRAMS = [
  'sh',
  'git',
  'find',
  'grep',
  'sed',
  'awk',
  'tr',
  'xargs',
  'stat',
  'sort',
  'head',
  'test',
  'true',
  'cat',
]

let own: TestWorkspaces
beforeAll(async () => {
  own = await openTestWorkspaces()
})
afterAll(() => own[Symbol.asyncDispose]())

let worlds = 0

/** A workspace in which `walker` searches; files as given, the first one the newest. */
async function world(walker: 'rg' | 'find', files: Record<string, string>) {
  const id = `c${++worlds}`
  const file = (...parts: string[]) => own.dir.file('worlds', id, ...parts)
  const workspace = await own.open(id)
  await mkdir(file('bin'), { recursive: true })
  const programs = walker === 'rg' ? [...PROGRAMS, 'rg'] : PROGRAMS
  for (const name of programs) await symlink(join(findProgram(name)!, name), file('bin', name))
  const newest = Date.now() / 1000
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const path = join(workspace.workingDir, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
    await utimes(path, newest - index, newest - index)
  }
  const context: ToolContext = {
    conversationId: asConversationId(id),
    callId: 'call-1',
    workspace: new Proxy(workspace, {
      get: (of, member) => {
        if (member === 'exec')
          return (request: Parameters<typeof of.exec>[0]) =>
            of.exec({ ...request, env: { PATH: file('bin'), HOME: file('home') } }, never)
        const value: unknown = Reflect.get(of, member)
        return typeof value === 'function' ? value.bind(of) : value
      },
    }),
    dataDir: file('own'),
    secretsFor: () => Promise.resolve({}),
    signal: never,
  }
  const globbing = globTool()
  const inside = (paths: readonly string[]) => paths.map((path) => path.replace(`${workspace.workingDir}/`, ''))
  const textOf = ({ content: [part] }: GrepObservation | GlobObservation) => (part?.type === 'text' ? part.text : '')
  return {
    /** Path outside the working directory. */
    file,
    work: workspace.workingDir,
    grep: async (args: object, confine = false) => {
      const grepping = grepTool({ confine })
      const found = (await grepping.execute(grepping.parse({ ...args }), context)) as GrepObservation
      return { ...found, names: inside(found.matches), text: textOf(found) }
    },
    glob: async (args: object) => {
      const found = (await globbing.execute(globbing.parse({ ...args }), context)) as GlobObservation
      return { ...found, names: inside(found.files), text: textOf(found) }
    },
    git: (...args: string[]) => execFileSync('git', args, { cwd: workspace.workingDir }),
  }
}

const HAS_RG = findProgram('rg') !== null

describe.each(['find', 'rg'] as const)('a search with %s', (walker) => {
  const shows = walker === 'rg' && !HAS_RG ? test.skip : test

  shows(
    'grep lists files with a matching line, newest first, hidden ones only where the pattern includes them',
    async () => {
      const at = await world(walker, {
        'src/new.ts': 'const Needle = 1\n',
        'old.ts': 'x\nneedle two\n',
        'other.ts': 'nothing\n',
        'page.tsx': 'NEEDLE\n',
        '.env': 'needle\n',
        '.hidden/a.ts': 'needle\n',
        'it has a \'quote" and $x.ts': 'needle\n',
        'picture.png': 'needle\0',
      })
      const found = await at.grep({ pattern: 'needle' })
      expect(found).toMatchObject({ is_error: false, truncated: false, search_path: at.work, include_pattern: null })
      expect(found.names).toEqual(['src/new.ts', 'old.ts', 'page.tsx', 'it has a \'quote" and $x.ts'])
      expect(found.text).toMatch(/^Found 4 files: .*\n\/.*src\/new\.ts\n/)
      expect((await at.grep({ pattern: 'needle', include: '*.{ts,tsx}' })).names).toHaveLength(4)
      expect((await at.grep({ pattern: 'needle', include: '!*.ts' })).names).toEqual(['page.tsx'])
      expect((await at.grep({ pattern: 'needle', include: 'src/*' })).names).toEqual(['src/new.ts'])
      expect((await at.grep({ pattern: 'needle', include: '.env*' })).names).toEqual(['.env'])
      expect((await at.grep({ pattern: 'needle', path: 'src' })).names).toEqual(['src/new.ts'])
      expect(await at.grep({ pattern: '^absent$' })).toMatchObject({ is_error: false, names: [] })
    },
  )

  shows('a pattern that looks like an option, or like a command, is only a pattern', async () => {
    const at = await world(walker, { a: 'x --version y\n', b: '$(touch made) `touch made`\n' })
    expect((await at.grep({ pattern: '--version' })).names).toEqual(['a'])
    expect((await at.grep({ pattern: '\\$\\(touch made\\)' })).names).toEqual(['b'])
    expect((await at.grep({ pattern: 'x', include: '--files' })).names).toEqual([])
    expect((await at.glob({ pattern: '-*' })).names).toEqual([])
    expect((await at.glob({ pattern: '$(touch made)' })).names).toEqual([])
    expect((await at.glob({ pattern: '**' })).names.toSorted()).toEqual(['a', 'b'])
  })

  shows.each([
    [{ pattern: '(' }, /Invalid regex/],
    [{ pattern: 'a(?=b)' }, /look-around/],
    [{ pattern: '(a)\\1' }, /backreferences/],
    [{ pattern: 'x', path: 'a.txt' }, /is not a directory/],
    [{ pattern: 'x', path: '/no/such/place' }, /is not a directory/],
  ])('grep %j is an error with a reason', async (args, reason) => {
    const at = await world(walker, { 'a.txt': 'ab\n' })
    const found = await at.grep(args)
    expect(found).toMatchObject({ is_error: true, matches: [] })
    expect(found.text).toMatch(reason)
  })

  shows('glob finds files by path, links included, at any depth', async () => {
    const at = await world(walker, { 'x/y/a.ts': '', 'b.ts': '', 'x/c.js': '', '.github/w/d.yml': '' })
    await symlink('b.ts', join(at.work, 'link.ts'))
    await symlink('nowhere', join(at.work, 'dangling.ts'))
    expect((await at.glob({ pattern: '*.ts' })).names.toSorted()).toEqual(['b.ts', 'link.ts', 'x/y/a.ts'])
    expect((await at.glob({ pattern: 'x/**' })).names).toEqual(['x/y/a.ts', 'x/c.js'])
    expect((await at.glob({ pattern: '' })).names).toHaveLength(4)
    expect((await at.glob({ pattern: '.github/**/*.yml' })).names).toEqual(['.github/w/d.yml'])
    expect((await at.glob({ pattern: `${at.work}/x/*.js` })).names).toEqual(['x/c.js'])
    await symlink(join(at.work, 'x'), at.file('through'))
    const through = await at.glob({ pattern: '*.js', path: at.file('through') })
    expect(through.files).toEqual([at.file('through', 'c.js')])
    await mkdir(at.file('home'))
    await writeFile(at.file('home', 'mine.txt'), '')
    expect((await at.glob({ pattern: '~/*.txt' })).files).toEqual([at.file('home', 'mine.txt')])
    expect(await at.glob({ pattern: '*.rs' })).toMatchObject({ is_error: false, files: [], truncated: false })
  })

  shows('files that version control ignores are left out, unless the search begins there', async () => {
    const at = await world(walker, {
      'a.log': 'word\n',
      'keep.log': 'word\n',
      'a.ts': 'word\n',
      'out/b.ts': 'word\n',
      'sub/.gitignore': 'c.ts\n',
      'sub/c.ts': 'word\n',
      '.gitignore': '*.log\n!keep.log\nout/\n',
    })
    at.git('init', '-q')
    expect((await at.grep({ pattern: 'word' })).names).toEqual(['keep.log', 'a.ts'])
    expect((await at.glob({ pattern: '*' })).names).toEqual(['keep.log', 'a.ts'])
    expect((await at.glob({ pattern: '*', path: 'out' })).names).toEqual(['out/b.ts'])
  })

  shows('a search returns a hundred files, and reports that there are more', async () => {
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}.txt`, 'x\n']))
    const at = await world(walker, files)
    expect(await at.glob({ pattern: '*.txt' })).toMatchObject({ truncated: false })
    expect(await at.grep({ pattern: 'x' })).toMatchObject({ truncated: false })
    await writeFile(join(at.work, 'newest.txt'), 'x\n')
    const { names, truncated, text } = await at.glob({ pattern: '*.txt' })
    expect([names.length, names[0], truncated]).toEqual([100, 'newest.txt', true])
    expect(text).toContain('There are more')
    expect(await at.grep({ pattern: 'x' })).toMatchObject({ truncated: true })
  })

  shows('a confined search stays below the working directory', async () => {
    const at = await world(walker, { 'a.txt': 'word\n' })
    await symlink('/', join(at.work, 'out'))
    for (const path of ['/', '..', '~', 'out/tmp'])
      expect((await at.grep({ pattern: 'word', path }, true)).text).toMatch(/outside the working directory/)
    expect((await at.grep({ pattern: 'word' }, true)).names).toEqual(['a.txt'])
  })

  shows('files that cannot be read are left out', async () => {
    const at = await world(walker, { 'a.txt': 'word\n', 'locked/b.txt': 'word\n' })
    await chmod(join(at.work, 'locked'), 0)
    const { names } = await at.grep({ pattern: 'word' })
    await chmod(join(at.work, 'locked'), 0o755)
    expect(names).toContain('a.txt')
  })
})
