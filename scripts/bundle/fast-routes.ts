import type { Plugin } from 'rolldown'

/** Text of a library, and what the bundle has instead. */
type Replacement = { file: RegExp; text: RegExp; by: string; more?: string }

const REPLACEMENTS: readonly Replacement[] = [
  {
    file: /[\\/]find-my-way[\\/]lib[\\/]node\.js$/,
    text: /return new Function\('path', 'i', .*/,
    by: 'return (path, i) => path.startsWith(prefix, i)',
  },
  {
    file: /[\\/]find-my-way[\\/]lib[\\/]handler-storage\.js$/,
    text: /const fnBody = \["'use strict'"\]\s+\/\/ Parameter values arrive by position[^]*?return new Function\('NullObject', .*/,
    by: `return (param0, param1, param2, param3, extraParams) => {
      const values = [param0, param1, param2, param3]
      const made = new NullObject()
      for (let i = 0; i < params.length; i++) made[params[i]] = i < 4 ? values[i] : extraParams[i - 4]
      return made
    }`,
  },
  {
    file: /[\\/]fastify[\\/]lib[\\/]route\.js$/,
    text: /this\.after\(\(notHandledErr, done\) => \{/,
    by: 'afterTogether(this, (notHandledErr, done) => {',
    more: `
const waiting = new WeakMap()
function afterTogether (server, work) {
  const others = waiting.get(server)
  if (others !== undefined) return others.push(work)
  const all = [work]
  waiting.set(server, all)
  server.after((error, done) => {
    waiting.delete(server)
    for (const each of all) each(error, () => undefined)
    done(error)
  })
}
`,
  },
]

/**
 * Makes the routes of a server cheaper to add. The router compiles functions from text for each of them, which the compile cache of the
 * runtime does not keep, and the framework queues a plugin of its own for each; together, they share one.
 */
export const fastRoutes: Plugin = {
  name: 'parley-fast-routes',
  transform: {
    filter: { id: REPLACEMENTS.map(({ file }) => file) },
    handler(code, id) {
      const { text, by, more = '' } = REPLACEMENTS.find(({ file }) => file.test(id))!
      if (!text.test(code)) this.error(`${id} has changed: ${text.source} does not occur`)
      return { code: code.replace(text, () => by) + more }
    },
  },
}
