import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../testing/disk-workspace.ts'
import { tempDir } from '../../testing/temp.ts'
import { projectSkills, userSkills } from './discover.ts'
import { OWN_FILES } from './home.ts'

const never = new AbortController().signal

async function project(files: Record<string, string>) {
  const dir = await tempDir()
  const root = dir.file('project')
  await mkdir(root)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  const found = async () => {
    const { skills, notes } = await projectSkills(diskWorkspace(root), root, never)
    return { notes, of: (name: string) => skills.find((skill) => skill.name === name)?.content ?? null }
  }
  return Object.assign(dir, { root, found })
}

test('imported files follow the text that mentions them, relative to the importing file, each once', async () => {
  await using at = await project({
    'CLAUDE.md': '- @docs/style.md\nSee @./docs/api.md, and @docs/style.md again.',
    'docs/style.md': 'Use tabs.\n@more/names.md',
    'docs/more/names.md': 'Short names.\n@../../README',
    'docs/api.md': 'Version 2.',
    README: 'A shop.',
  })
  const { of, notes } = await at.found()
  const part = (path: string, text: string) => `[Imported from ${join(at.root, path)}]\n${text}`
  expect(of('claude')).toBe(
    [
      '- @docs/style.md\nSee @./docs/api.md, and @docs/style.md again.',
      part('docs/style.md', 'Use tabs.\n@more/names.md'),
      part('docs/more/names.md', 'Short names.\n@../../README'),
      part('README', 'A shop.'),
      part('docs/api.md', 'Version 2.'),
    ].join('\n\n'),
  )
  expect(notes).toEqual([])
})

test('mentions in code, within words and of files that do not exist import nothing', async () => {
  const text = [
    'Ask ann@notes.md, run `@notes.md` and ``x ` @notes.md``, use @types/node and @nobody.',
    '`code`@notes.md',
    '```\n@notes.md\n```',
    '~~~sh\n@notes.md',
  ].join('\n')
  await using at = await project({ 'AGENTS.md': text, 'notes.md': 'Imported.' })
  const { of, notes } = await at.found()
  expect(of('agents')).toBe(text)
  expect(notes).toEqual([])
})

test('an absolute path inside the project, a path with a space and one before a full stop are imported', async () => {
  await using at = await project({ 'one.md': 'One.', 'two words.md': 'Two.', 'three.md': 'Three.' })
  await writeFile(join(at.root, 'AGENTS.md'), `@${join(at.root, 'one.md')}\n@two\\ words.md\n(Also @three.md.)`)
  expect((await at.found()).of('agents')).toMatch(/One\.[^]*Two\.[^]*Three\./)
})

test('no import leads out of the project: neither a path, nor a link, nor the home folder', async () => {
  await using at = await project({
    'AGENTS.md': '@../secret.md @docs/../../secret.md @~/.claude/secret.md @link.md @folder/secret.md @/etc/hostname',
    'docs/x': '',
  })
  await writeFile(at.file('secret.md'), 'not yours')
  await symlink('../secret.md', join(at.root, 'link.md'))
  await symlink('..', join(at.root, 'folder'))
  const { of, notes } = await at.found()
  expect(of('agents')).not.toMatch(/not yours|Imported/)
  const refused = notes.filter((note) => note.includes('leads out of its folder')).map((note) => note.split(':')[0])
  const paths = ['../secret.md', '@~/.claude/secret.md', 'link.md', 'folder/secret.md']
  expect(refused).toEqual(expect.arrayContaining(paths))
  expect(refused.some((path) => path!.endsWith('/etc/hostname'))).toBe(true)
})

test('files that may hold credentials are not imported, also through a link', async () => {
  await using at = await project({
    'AGENTS.md': '@.env @.env.local @.git/config @notes.md @harmless.environment',
    '.env': 'KEY=1',
    '.env.local': 'KEY=2',
    '.git/config': '[remote]',
    'harmless.environment': 'Shown.',
  })
  await symlink('.env', join(at.root, 'notes.md'))
  const { of, notes } = await at.found()
  expect(of('agents')).not.toMatch(/KEY|\[remote\]/)
  expect(of('agents')).toContain('Shown.')
  expect(notes.filter((note) => note.includes('may hold credentials'))).toHaveLength(4)
})

test('files that import each other, or themselves, are imported once', async () => {
  await using at = await project({
    'AGENTS.md': '@AGENTS.md @a.md',
    'a.md': 'A @b.md @a.md',
    'b.md': 'B @a.md @AGENTS.md',
  })
  const text = (await at.found()).of('agents')
  expect(text?.match(/\[Imported from/g)).toHaveLength(2)
})

test('imports are followed through five files, and the next one is noted', async () => {
  const chain = Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`${n}.md`, `number ${n} @${n + 1}.md`]))
  await using at = await project({ 'AGENTS.md': '@1.md', ...chain })
  const { of, notes } = await at.found()
  expect(of('agents')).toContain('number 5')
  expect(of('agents')).not.toContain('number 6')
  expect(notes).toEqual(['6.md: imports deeper than 5 files are left out'])
})

test('an instruction file and its imports have 32 KiB together, and the end says so', async () => {
  await using at = await project({
    'AGENTS.md': '@a.md\n@b.md\n@c.md',
    'a.md': 'a'.repeat(20_000),
    'b.md': 'ä'.repeat(20_000),
    'c.md': 'never reached',
  })
  const { of, notes } = await at.found()
  expect(Buffer.byteLength(of('agents')!)).toBeLessThan(32 * 1024 + 300)
  expect(of('agents')).toMatch(/ä\n\[Only the first 32768 bytes of .*AGENTS\.md and of its imports are shown\. Read/)
  expect(notes).toEqual(['AGENTS.md: only its first 32768 bytes are used'])
})

test.each([
  ['thousands of mentions', Array.from({ length: 2_000 }, (_, n) => `@f${n}`).join(' '), /only 100 mentions/],
  ['one endless mention', `@${'.'.repeat(30_000)}x`, null],
  ['backticks without an end', '` `` ``` '.repeat(20_000), null],
  ['a binary file', '@binary', /binary: it is no text/],
  ['a folder', '@docs', null],
  ['a file beyond the limit', '@large', /large: it is larger/],
])('%s end the reading with the text of the file alone', async (_, text, why) => {
  await using at = await project({ 'CLAUDE.md': text, binary: 'a\0b', 'docs/x': '', large: 'x'.repeat(300_000) })
  const { of, notes } = await at.found()
  expect(of('claude')).toContain(text.slice(0, 100))
  expect(of('claude')).not.toContain('[Imported from')
  if (why !== null) expect(notes.join('\n')).toMatch(why)
})

test('an import of a file that every model gets anyway adds nothing, and an imported file is no skill of its own', async () => {
  await using at = await project({
    'AGENTS.md': 'For all. @web/CLAUDE.md',
    'CLAUDE.md': 'For one. @AGENTS.md',
    'GEMINI.md': 'For another. @CLAUDE.md',
    'web/CLAUDE.md': 'Use flex.',
    'api/AGENTS.md': 'Use json. @../AGENTS.md @rules.md',
    'api/rules.md': 'Be strict.',
  })
  const { of } = await at.found()
  expect(of('agents')).toContain('Use flex.')
  expect(of('claude:web')).toBeNull()
  expect(of('claude')).toBe('For one. @AGENTS.md')
  expect(of('gemini')).toContain('For one.')
  expect(of('agents:api')).toContain('Be strict.')
  expect(of('agents:api')).not.toContain('For all.')
})

test('rules of Cursor and of Copilot import nothing', async () => {
  await using at = await project({
    '.cursorrules': 'Rule. @notes.md',
    '.github/copilot-instructions.md': 'Write tests. @../notes.md',
    'notes.md': 'Not for them.',
  })
  const { of } = await at.found()
  expect([of('cursorrules'), of('copilot')]).toEqual(['Rule. @notes.md', 'Write tests. @../notes.md'])
})

test('instruction files of the home folder are read, and import from their own folder alone', async () => {
  await using dir = await tempDir()
  const files = {
    '.claude/CLAUDE.md': 'Mine. @prefs.md @~/.claude/more.md @~/.ssh/id @../.agents/x.md',
    '.claude/prefs.md': 'Be brief.',
    '.claude/more.md': 'Be kind.',
    '.agents/AGENTS.md': '@../.claude/prefs.md',
    '.agents/x.md': 'Elsewhere.',
    '.ssh/id': 'PRIVATE',
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(dir.file(path)), { recursive: true })
    await writeFile(dir.file(path), text)
  }
  const { skills, notes } = await userSkills(OWN_FILES, dir.path, never)
  expect(skills.map(({ name }) => name)).toEqual(['user:agents', 'user:claude'])
  expect(skills[0]!.content).toBe('@../.claude/prefs.md')
  expect(skills[1]!.content).toMatch(/Be brief\.[^]*Be kind\./)
  expect(skills[1]!.content).not.toMatch(/PRIVATE|Elsewhere/)
  expect(notes.filter((note) => note.includes('leads out of its folder'))).toHaveLength(3)
})

test('an instruction file of the home folder that is a link is read once', async () => {
  await using dir = await tempDir()
  await mkdir(dir.file('.claude'))
  await mkdir(dir.file('.gemini'))
  await writeFile(dir.file('rules.md'), 'Linked.')
  await symlink('../rules.md', dir.file('.claude/CLAUDE.md'))
  await symlink('../rules.md', dir.file('.gemini/GEMINI.md'))
  const { skills } = await userSkills(OWN_FILES, dir.path, never)
  expect(skills.map(({ name, content }) => [name, content])).toEqual([['user:claude', 'Linked.']])
})
