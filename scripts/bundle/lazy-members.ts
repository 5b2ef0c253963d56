import type { Plugin } from 'rolldown'
import { parseSync, Visitor, type ESTree } from 'rolldown/utils'
import { replaced, type Edit } from './edits.ts'

const OBJECTS = new Set(['object', 'strictObject', 'looseObject'])

/**
 * Makes the schemas of the members of a zod object when the object is first used. A start declares thousands of schemas, of which an idle
 * server uses a few; each costs time and about a kilobyte. Zod reads the members of an object on first use, and permits getters
 * for schemas that refer to themselves, so every member that a call makes becomes a getter.
 */
export const lazyMembers: Plugin = {
  name: 'parley-lazy-members',
  transform: {
    filter: { id: /[\\/]packages[\\/].*\.ts$/, code: "from 'zod'" },
    handler: (code, id) => ({ code: withLazyMembers(code, id) }),
  },
}

/** Returns the text of a TypeScript module with getters for the members of zod objects that calls make. @throws Error when it does not parse */
export function withLazyMembers(code: string, file: string): string {
  const { program, errors } = parseSync(file, code)
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]!.message}`)
  const edits: Edit[] = []
  new Visitor({
    CallExpression(call) {
      const [shape] = call.arguments
      if (isObject(call.callee) && shape?.type === 'ObjectExpression')
        for (const member of shape.properties) edits.push(...getterEdits(member, code))
    },
  }).visit(program)
  return replaced(code, edits)
}

const isObject = (callee: ESTree.Expression): boolean =>
  callee.type === 'MemberExpression' &&
  callee.object.type === 'Identifier' &&
  callee.object.name === 'z' &&
  callee.property.type === 'Identifier' &&
  OBJECTS.has(callee.property.name)

function getterEdits(member: ESTree.ObjectPropertyKind, code: string): Edit[] {
  if (member.type !== 'Property' || member.kind !== 'init' || member.computed) return []
  const { key, value } = member
  if (value.type !== 'CallExpression') return []
  return [
    { from: key.start, to: value.start, text: `get ${code.slice(key.start, key.end)}() { return (` },
    { from: value.end, to: value.end, text: ') }' },
  ]
}
