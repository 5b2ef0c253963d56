import { expect, test } from 'vitest'
import { z } from 'zod'
import { AgentBase } from './agent.ts'
import { Message } from './events/message.ts'
import { ConfirmationPolicy } from './policy.ts'
import { SecurityAnalyzer } from './security.ts'
import { Skill } from './skills.ts'
import { tagUnion } from './unions.ts'
import { BaseWorkspace } from './workspace.ts'

const issues = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues ?? []

test.each([
  [{}, "''"],
  [{ kind: null }, "''"],
  [{ kind: 'Nobody' }, "'Nobody'"],
  [{ kind: 'constructor' }, "'constructor'"],
])('a missing or unknown kind is one value error on the union itself: %j', (value, shown) => {
  const found = issues(z.object({ agent: AgentBase }), { agent: value })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatchObject({
    path: ['agent'],
    message: `Value error, Unknown kind ${shown} for AgentBase; Expected one of: ['ACPAgent', 'Agent']`,
    params: { type: 'value_error', ctx: { error: {} }, omit: ['kind'] },
  })
})

test.each([null, 5, 'Agent', true, []])('a union by kind refuses %j as a whole', (value) => {
  expect(issues(AgentBase, value)).toMatchObject([{ path: [], params: { type: 'model_attributes_type' } }])
})

test('an absent union is reported as missing', () => {
  expect(issues(z.object({ agent: AgentBase }), {})).toMatchObject([{ path: ['agent'], params: { type: 'missing' } }])
})

test("a variant's own failures have no tag", () => {
  expect(issues(AgentBase, { kind: 'ACPAgent' })).toMatchObject([{ path: ['acp_command'] }])
})

test('an ensemble of analyzers is parsed with nested analyzers, in both spellings', () => {
  const input = {
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: [{ kind: 'VendorAnalyzer' }, { kind: 'GraySwanAnalyzer', history_limit: '3' }],
  }
  const read = SecurityAnalyzer.parse(input)
  expect(read).toMatchObject({
    propagate_unknown: false,
    analyzers: [
      { kind: 'VendorAnalyzer', history_limit: 20, low_threshold: 0.3 },
      { kind: 'GraySwanAnalyzer', history_limit: 3, medium_threshold: 0.7 },
    ],
  })
  expect(SecurityAnalyzer.parse(read)).toEqual(read)
  expect(issues(SecurityAnalyzer, { kind: 'EnsembleSecurityAnalyzer', analyzers: [{ kind: 'X' }] })[0]?.path).toEqual([
    'analyzers',
    0,
  ])
})

test('the variant of a policy is selected by kind alone', () => {
  expect(ConfirmationPolicy.parse({ kind: 'ConfirmRisky' })).toEqual({
    kind: 'ConfirmRisky',
    threshold: 'HIGH',
    confirm_unknown: true,
  })
  expect(issues(ConfirmationPolicy, {})).toHaveLength(1)
})

test('the variant of a workspace without a kind is selected by its host', () => {
  expect(BaseWorkspace.parse({ working_dir: '/w' })).toEqual({ kind: 'LocalWorkspace', working_dir: '/w' })
  expect(BaseWorkspace.parse({ working_dir: '/w', host: 'https://h' })).toEqual({
    kind: 'RemoteWorkspace',
    working_dir: '/w',
    host: 'https://h',
    api_key: null,
    read_timeout: 600,
    max_connections: null,
  })
})

test('a tagged union reports a missing or unknown tag', () => {
  const skill = { name: 'a', content: 'b' }
  expect(issues(Skill, { ...skill, trigger: {} })).toMatchObject([
    {
      path: ['trigger'],
      message: "Unable to extract tag using discriminator 'type'",
      params: { type: 'union_tag_not_found', ctx: { discriminator: "'type'" } },
    },
  ])
  expect(issues(Skill, { ...skill, trigger: { type: 'x' } })).toMatchObject([
    {
      message: "Input tag 'x' found using 'type' does not match any of the expected tags: 'keyword', 'task', 'path'",
      params: { type: 'union_tag_invalid', ctx: { tag: 'x', expected_tags: "'keyword', 'task', 'path'" } },
    },
  ])
})

test('a failure inside a tagged variant reports the position of the tag', () => {
  expect(issues(Skill, { name: 'a', content: 'b', trigger: { type: 'task', triggers: [7] } })).toMatchObject([
    { path: ['trigger', 'triggers', 0], params: { tags: [{ tag: 'task', fromEnd: 2 }] } },
  ])
  const inner = tagUnion('type', { b: z.object({ type: z.literal('b'), n: z.number() }) })
  const outer = tagUnion('type', { a: z.object({ type: z.literal('a'), inner }) })
  expect(issues(outer, { type: 'a', inner: { type: 'b', n: 'x' } })).toMatchObject([
    {
      path: ['inner', 'n'],
      params: {
        tags: [
          { tag: 'a', fromEnd: 2 },
          { tag: 'b', fromEnd: 1 },
        ],
      },
    },
  ])
})

test('text parts are closed, image parts are open', () => {
  const message = (part: object) => ({ role: 'user', content: [part] })
  expect(issues(Message, message({ type: 'text', text: 'a', more: 1 }))).toMatchObject([
    { path: ['content', 0, 'more'], params: { type: 'extra_forbidden', tags: [{ tag: 'text', fromEnd: 1 }] } },
  ])
  expect(Message.parse(message({ type: 'image', image_urls: ['u'], more: 1 })).content).toEqual([
    { type: 'image', image_urls: ['u'], cache_prompt: false },
  ])
})
