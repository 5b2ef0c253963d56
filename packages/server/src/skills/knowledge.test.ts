import { AgentContext } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { skillsForMessage, skillsForFile } from './activation.ts'
import { catalogue } from './catalogue.ts'
import { memoryText } from './memory.ts'
import { placeOfPlugin } from './plugins/source.ts'
import { skillLines, standingKnowledge } from './render.ts'

const word = (name: string, keyword: string, more: object = {}) => ({
  name,
  content: `about ${name}`,
  trigger: { type: 'keyword' as const, keywords: [keyword] },
  ...more,
})
const context = (members: object) => AgentContext.parse(members)

describe('skills for a message', () => {
  const known = context({
    skills: [word('one', 'alpha'), word('two', 'beta'), word('off', 'alpha'), { name: 'repo', content: 'alpha' }],
    disabled_skills: ['off'],
    user_message_prefix: 'before',
    user_message_suffix: 'after',
  })
  test('a message adds the skills that its words name, between prefix and suffix, without those already given', () => {
    const { text, names } = skillsForMessage(known, 'alpha and beta', [])
    expect(names).toEqual(['one', 'two'])
    expect(text).toMatch(/^before\n\n<skill name="one">.*alpha.*about one.*<skill name="two">.*about two.*after$/s)
    expect(skillsForMessage(known, 'alpha and beta', ['one']).names).toEqual(['two'])
  })
  test('prefix and suffix are added to a message without keywords too', () => {
    expect(skillsForMessage(known, '  ', [])).toEqual({ text: 'before\n\nafter', names: [] })
    expect(skillsForMessage(null, 'alpha', [])).toEqual({ text: null, names: [] })
  })
})

describe('rules for a file', () => {
  const rule = (name: string, ...paths: string[]) => ({ name, content: `of ${name}`, trigger: { type: 'path', paths } })
  const known = context({ skills: [rule('web', 'web/**'), rule('css', '*.css')] })
  test.each<[string, string[]]>([
    ['/place/web/a.css', ['web', 'css']],
    ['web/a.ts', ['web']],
    ['/place/../other/web/a.ts', []],
    ['/elsewhere/web/a.ts', []],
    ['/place', []],
  ])('the file %s adds the rules %j', (path, names) => {
    expect(skillsForFile(known, path, { workingDir: '/place', active: [] }).names).toEqual(names)
  })
  test('a file adds each rule once', () => {
    expect(skillsForFile(known, 'web/a.css', { workingDir: '/place', active: ['web'] }).names).toEqual(['css'])
  })
})

test('later sources replace skills of earlier ones: user, request, project, plugins; disabled skills are removed at the end', () => {
  const skill = (name: string, content: string) => context({ skills: [{ name, content }] }).skills[0]!
  const { skills, origins } = catalogue(
    {
      user: [skill('a', 'user'), skill('b', 'user'), skill('c', 'user'), skill('d', 'user'), skill('off', 'user')],
      request: [skill('b', 'request'), skill('c', 'request'), skill('d', 'request')],
      project: [skill('c', 'project'), skill('d', 'project'), skill('off', 'project')],
      plugin: [skill('d', 'first'), skill('d', 'last')],
    },
    ['off', 'unknown'],
  )
  expect(skills.map(({ name, content }) => [name, content])).toEqual([
    ['a', 'user'],
    ['b', 'request'],
    ['c', 'project'],
    ['d', 'last'],
  ])
  expect(origins).toEqual({ a: 'user', c: 'project', d: 'plugin' })
})

test('instructions of one vendor are for its models, and for models of unknown vendors', () => {
  const known = context({
    skills: [
      { name: 'claude', content: 'of one' },
      { name: 'agents', content: 'of all' },
    ],
  })
  expect(standingKnowledge(known, 'openai/gpt-5')).toBe('## agents\nof all')
  expect(standingKnowledge(known, 'anthropic/claude-x')).toContain('of one')
  expect(standingKnowledge(known, 'own/model')).toContain('of one')
})

test('the list names invocable skills with markup escaped, and leaves out the others', () => {
  const known = context({
    skills: [
      word('shown', 'x', { description: 'Says <this> & that' }),
      word('first-line', 'x', { content: '# Title\nThe first line.\nMore.' }),
      word('hidden', 'x', { disable_model_invocation: true }),
      { name: 'folder', content: 'y', is_agentskills_format: true, description: 'Of a folder' },
      { name: 'rule', content: 'y', trigger: { type: 'path', paths: ['*'] } },
    ],
  })
  expect(skillLines(known).split('\n')).toEqual([
    '- shown: Says &lt;this&gt; &amp; that',
    '- first-line: The first line. [14 more characters]',
    '- folder: Of a folder',
  ])
})

test('notes share the limit, and lose their oldest lines', () => {
  expect(memoryText([{ title: 'A', text: ' ' }])).toBe(null)
  const long = Array.from({ length: 1000 }, (_, n) => `line ${n}`).join('\n')
  const text = memoryText([
    { title: 'A', text: 'short' },
    { title: 'B', text: long },
  ])!
  expect(text).toMatch(/^## A\nshort\n\n## B\n\[Older notes were left out\.\]\nline \d+\n.*line 999$/s)
  expect(text.length).toBeLessThan(6050)
})

const placeOf = (source: string, more: object = {}) =>
  placeOfPlugin({ source, ref: null, repo_path: null, ...more }, ['plugins', 0])
test.each<[string, object, object]>([
  ['github:acme/tools', { ref: 'v1' }, { kind: 'git', name: 'acme/tools', provider: 'github', ref: 'v1', folder: '' }],
  [
    'https://git.example.org/a/b.git',
    { repo_path: 'x/./y/' },
    { kind: 'git', provider: null, ref: null, folder: 'x/y' },
  ],
  ['./plugin', {}, { kind: 'path', path: './plugin', folder: '' }],
])('the plugin source %s with %j is read', (source, more, expected) => {
  expect(placeOf(source, more)).toMatchObject(expected)
})
test.each<[string, object, RegExp]>([
  ['https://user:secret@git.example.org/a/b', {}, /plugins\.0\.source holds a credential/],
  ['github:acme/tools', { ref: '--upload-pack=x' }, /plugins\.0\.ref is no branch/],
  ['github:acme/tools', { repo_path: '../x' }, /plugins\.0\.repo_path leads out/],
  ['./plugin', { ref: 'main' }, /git sources alone/],
  ['git@example.org:a/b', {}, /use github:owner\/name, an https address/],
  ['file:///etc', {}, /cannot be fetched/],
  ['github:acme', {}, /cannot be fetched/],
  ['', {}, /is no path/],
  ['~/plugin', {}, /is no path/],
])('the plugin source %s with %j is refused', (source, more, why) => {
  expect(() => placeOf(source, more)).toThrow(why)
  expect(() => placeOf(source, more)).not.toThrow(/secret/)
})
