import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../../../testing/temp.ts'
import { findCgroup, killGroup, membersOf, removeGroup } from './cgroup.ts'
import { forgetGroup, groupsOf, knownGroups, ProcessGroups, runnerOf } from './process-groups.ts'

/** Files that describe a machine: a mount of version 2 in `point` that shows `root`, and a process in `path`. */
function machine(dir: TempDir, { point, root = '/', path }: { point: string; root?: string; path: string }) {
  const [mounts, own] = [dir.file('mountinfo'), dir.file('own')]
  const escaped = point.replaceAll(' ', '\\040')
  writeFileSync(
    mounts,
    [
      '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
      '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory',
      `41 31 0:38 ${root} ${escaped} rw,relatime shared:9 - cgroup2 cgroup2 rw`,
    ].join('\n'),
  )
  writeFileSync(own, `4:memory:/elsewhere\n0::${path}\n`)
  return { mounts, own }
}

/** A folder with the file that a group has. */
function group(dir: TempDir, ...names: string[]): string {
  mkdirSync(dir.file(...names), { recursive: true })
  writeFileSync(dir.file(...names, 'cgroup.procs'), '')
  return dir.file(...names)
}

test('the cgroup of a process is found below the mount of version 2, also in a container that sees a part of the tree', async () => {
  await using dir = await tempDir()
  const service = group(dir, 'a mount', 'parley.service')
  const point = dir.file('a mount')
  expect(findCgroup(machine(dir, { point, path: '/parley.service' }))).toEqual({ path: service })
  expect(findCgroup(machine(dir, { point, root: '/docker/1', path: '/docker/1/parley.service' }))).toEqual({
    path: service,
  })
})

test('a process whose cgroup is not visible or not writable has none, with a reason', async () => {
  await using dir = await tempDir()
  const point = dir.file('mount')
  group(dir, 'mount')
  const reasonOf = (place: Parameters<typeof findCgroup>[0]) => {
    const found = findCgroup(place)
    return 'reason' in found ? found.reason : null
  }
  expect(reasonOf(machine(dir, { point, path: '/../other' }))).toMatch(/no cgroup of version 2/)
  expect(reasonOf(machine(dir, { point, root: '/docker/1', path: '/docker/12' }))).toMatch(/no cgroup of version 2/)
  expect(reasonOf(machine(dir, { point, path: '/gone' }))).toMatch(/cannot be written \(ENOENT\)/)
  const place = machine(dir, { point, path: '/' })
  writeFileSync(place.own, '4:memory:/\n')
  expect(reasonOf(place)).toMatch(/no cgroup of version 2/)
  // The administrator may write everything.
  if (process.getuid?.() === 0) return
  chmodSync(point, 0o555)
  expect(reasonOf(machine(dir, { point, path: '/' }))).toMatch(/cannot be written \(EACCES\)/)
})

test('a group is read with those below it, and ended by its own file or, on an older kernel, stopped first', async () => {
  await using dir = await tempDir()
  writeFileSync(`${group(dir, 'g')}/cgroup.procs`, '12\n0\n')
  writeFileSync(`${group(dir, 'g', 'below')}/cgroup.procs`, '34\n')
  expect(membersOf(dir.file('g'))).toEqual(new Set([12, 34]))
  expect(membersOf(dir.file('gone'))).toEqual(new Set())
  killGroup(dir.file('g'))
  expect(readFileSync(dir.file('g', 'cgroup.freeze'), 'utf8')).toBe('1')
  writeFileSync(dir.file('g', 'cgroup.kill'), '')
  killGroup(dir.file('g'))
  expect(readFileSync(dir.file('g', 'cgroup.kill'), 'utf8')).toBe('1')
  killGroup(dir.file('gone'))
  expect(removeGroup(dir.file('gone'))).toBe(true)
  // An empty folder is like a group without a process.
  mkdirSync(dir.file('empty', 'below'), { recursive: true })
  expect(removeGroup(dir.file('empty'))).toBe(true)
  expect(existsSync(dir.file('empty'))).toBe(false)
})

test('the runner leaves a group also when a process cannot be started, and its group is known until it is forgotten', async () => {
  await using dir = await tempDir()
  const own = group(dir, 'own')
  const home = dir.file('home')
  const groups = new ProcessGroups({ home, root: 'abc', log: () => undefined }, { path: own })
  expect(readFileSync(`${own}/cgroup.procs`, 'utf8')).toBe('0')
  writeFileSync(`${own}/cgroup.procs`, '')
  const refuse = () => {
    expect(readFileSync(`${own}/cgroup.procs`, 'utf8')).toBe('')
    throw new Error('not started')
  }
  expect(() => groups.of('c1').start(refuse)).toThrow('not started')
  expect(readFileSync(`${own}/cgroup.procs`, 'utf8')).toBe('0')
  const place = { home, root: 'abc' }
  expect(knownGroups(place)).toEqual([groups.path])
  expect(runnerOf(groups.path!)).toBe(process.pid)
  expect(groupsOf(place, 'c1')).toEqual([groups.of('c1').path])
  // A group with a process, like these folders with a file, is not removed.
  forgetGroup(home, groups.path!)
  expect(knownGroups(place)).toEqual([groups.path])
  writeFileSync(`${home}/groups/foreign`, '/sys/fs/cgroup')
  expect(knownGroups(place)).toEqual([groups.path])
  // The list is lost with its folder.
  rmSync(home, { recursive: true })
  mkdirSync(`${own}/parley-other-1-a`)
  expect(knownGroups(place, { path: own })).toEqual([groups.path])
})

test('a group that another runner forgets while the list is read hides no other group', async () => {
  await using dir = await tempDir()
  const home = dir.file('home')
  const groups = new ProcessGroups({ home, root: 'abc', log: () => undefined }, { path: group(dir, 'own') })
  // Listed, and gone when it is read.
  symlinkSync(dir.file('gone'), `${home}/groups/parley-abc-1-a`)
  expect(knownGroups({ home, root: 'abc' })).toEqual([groups.path])
  expect(knownGroups({ home: dir.file('no home'), root: 'abc' })).toEqual([])
})

test('without a group that can be entered, processes are started all the same, and the reason is logged', async () => {
  await using dir = await tempDir()
  const lines: string[] = []
  const log = (text: string) => void lines.push(text)
  const deps = { home: dir.file('home'), root: 'abc', log }
  for (const found of [{ reason: 'a reason' }, { path: dir.file('gone') }]) {
    const groups = new ProcessGroups(deps, found)
    expect(groups.path).toBeNull()
    expect(groups.of('c1').path).toBeNull()
    expect(groups.of('c1').start(() => 7)).toBe(7)
  }
  expect(lines).toEqual([expect.stringContaining('a reason'), expect.stringContaining('ENOENT')])
})
