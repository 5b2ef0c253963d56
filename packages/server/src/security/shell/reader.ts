/**
 * Reads shell text without running it and returns the commands that it would run, including indirect ones.
 *
 * Invariants
 *   R1. Reading is total and bounded: no input throws or exceeds the limits. A part that was not followed makes the result uncertain.
 *   R2. All branches are read in order, as if each were taken.
 */
import { shellQuote } from '../../lib/index.ts'
import type { ShellCommand, ShellDanger, ShellScan } from './scan.ts'
import { forEachChild, parse, type Command, type ParsedScript, type Redirection, type SyntaxNode } from 'unbash'
import { DECODED, FETCHED, ShellState, known, ReadingLimitExceeded, UNKNOWN } from './shell-state.ts'
import { isFetcher, outputOf } from './outputs.ts'
import { findCommands, xargsCommands } from './find-xargs.ts'
import { INTERPRETERS, programOperand, SHELLS, shellOperand, unwrap } from './wrappers.ts'
import { assignments, downloadTarget, isForkBomb, isTooNested, nameOf, positions } from './shapes.ts'
import { shellTexts } from './shell-arguments.ts'
import { expand, expandParts, expandText, type ExpansionContext } from './words.ts'

/** Maximum depth of shell texts inside shell texts. Source: agent-core.md 4.6. */
const MAX_DEPTH = 8
const MAX_COMMANDS = 1200
/** Maximum number of loop values that are followed. */
const MAX_ROUNDS = 16

type Context = {
  depth: number
  input: string
  /** Positions of parse errors in the current text. */
  errors: readonly number[]
  isElevated: boolean
}

/** Reads one normalised text. */
export function readShell(text: string): ShellScan {
  const reader = new Reader()
  reader.start(text)
  const { commands, dangers, isUncertain, isPartial } = reader
  return { commands, dangers, isUncertain, isPartial }
}

class Reader {
  readonly commands: ShellCommand[] = []
  readonly dangers = new Set<ShellDanger>()
  isUncertain = false
  isPartial = false
  readonly #state = new ShellState()
  readonly #functions = new Map<string, SyntaxNode>()
  #processFiles = 0

  start(text: string): void {
    try {
      this.#script(text, { depth: 0, input: '', errors: [], isElevated: false })
    } catch (error) {
      // A text that exceeds a limit of the reader or the parser counts as unread.
      this.isUncertain = true
      this.isPartial = true
      if (!(error instanceof ReadingLimitExceeded || error instanceof RangeError)) throw error
    }
  }

  /** Reads a text as a script and returns its output, as far as it is known. */
  #script(text: string, context: Context): string {
    if (context.depth > MAX_DEPTH) {
      this.isUncertain = true
      return UNKNOWN
    }
    if (isTooNested(text)) throw new ReadingLimitExceeded('the text is nested too deep')
    this.#state.step(1 + text.length / 100)
    const script = parse(text)
    return this.#statements(script, { ...context, errors: positions(script) })
  }

  #statements(script: ParsedScript | undefined, context: Context): string {
    return (script?.commands ?? []).map((statement) => this.#node(statement, context)).join('')
  }

  #node(node: SyntaxNode, context: Context): string {
    this.#state.step()
    switch (node.type) {
      case 'Command':
        return this.#command(node, context)
      case 'Pipeline': {
        let input = context.input
        for (const command of node.commands) input = this.#node(command, { ...context, input })
        return input
      }
      case 'Redirected': {
        const { input, writes } = this.#redirections(node.redirects, context)
        const output = this.#node(node.command, { ...context, input: input ?? context.input })
        for (const path of writes) this.#state.write(path, output)
        if (writes.length > 0) this.#record({ name: '', args: [], writes, isBroken: false }, context)
        return output
      }
      case 'Function': {
        if (isForkBomb(node.name.value, node.body)) this.dangers.add('fork-bomb')
        this.#state.functionDepth++
        this.#node(node.body, { ...context, input: '' })
        this.#state.functionDepth--
        this.#functions.set(node.name.value, node.body)
        return ''
      }
      case 'For': {
        const values = (node.wordlist ?? []).flatMap((word) => expand(word, this.#expansion(context)))
        let output = ''
        for (const value of values.length === 0 ? [UNKNOWN] : values.slice(0, MAX_ROUNDS)) {
          this.#state.set(node.name.value, value)
          output += this.#node(node.body, context)
        }
        return output
      }
      case 'Word':
        // A word outside a command is expanded too, and its substitutions run.
        expand(node, this.#expansion(context))
        return ''
      default: {
        let output = ''
        forEachChild(node, (child) => {
          output += this.#node(child, context)
        })
        return output
      }
    }
  }

  #command(node: Command, outer: Context): string {
    const { input, writes } = this.#redirections(node.redirects, outer)
    const context = { ...outer, input: input ?? outer.input }
    const expansion = this.#expansion(context)
    for (const item of node.prefix) if (item.type === 'Assignment') this.#assign(item, expansion)
    const isBroken = context.errors.some((position) => position >= node.pos && position <= node.end)
    if (node.name === undefined) {
      if (writes.length > 0 || node.prefix.length > 0)
        this.#record({ name: '', args: assignments(node), writes, isBroken }, context)
      return ''
    }
    const words = expand(node.name, expansion)
    const alias = node.name.parts === undefined ? this.#state.aliases.get(node.name.text) : undefined
    for (const argument of node.args) {
      if (argument.type === 'Word') words.push(...expand(argument, expansion))
      else words.push(`${argument.name}=${this.#assign(argument, expansion)}`)
    }
    const output =
      alias === undefined
        ? this.#simpleCommand(words, writes, isBroken, context)
        : this.#script([alias, ...words.slice(1).map(shellQuote)].join(' '), { ...context, depth: context.depth + 1 })
    for (const path of writes) this.#state.write(path, output)
    return writes.length > 0 ? '' : output
  }

  /** Reads one expanded command and returns its output. */
  #simpleCommand(words: readonly string[], writes: readonly string[], isBroken: boolean, context: Context): string {
    this.#state.step(1 + words.length / 10)
    const [first = '', ...args] = words
    const name = nameOf(first)
    const inner = unwrap(name, words)
    if (inner !== null) {
      for (const [variable, value] of inner.assignments) this.#state.set(variable, value)
      const innerContext = { ...context, isElevated: context.isElevated || inner.isElevated }
      // A wrapper without an inner command, such as `env` with assignments only, is recorded itself.
      if (inner.words.length > 0) return this.#simpleCommand(inner.words, writes, isBroken, innerContext)
      this.#record({ name, args, writes, isBroken }, innerContext)
      return inner.script === null ? '' : this.#nested(inner.script, innerContext, isBroken)
    }
    this.#record({ name: known(name) === '' ? null : name, args, writes, isBroken }, context)
    if (first.includes(FETCHED)) this.dangers.add('fetch-to-exec')
    if (first.includes(DECODED)) this.isUncertain = true
    if (SHELLS.has(name)) return this.#shellCall(words, isBroken, context)
    if (INTERPRETERS.test(name)) this.#interpreter(args, context)
    const texts = shellTexts(name, args, context.input).filter((text) => text !== '')
    if (texts.length > 0) return texts.map((text) => this.#nested(text, { ...context, input: '' }, isBroken)).join('')
    const script = first.includes('/') ? this.#state.read(first) : null
    if (script !== null) {
      this.#positional(words)
      return this.#nested(script, context, isBroken)
    }
    return (
      this.#functionCall(first, args, context) ??
      this.#builtin(name, args, isBroken, context) ??
      this.#other(name, args, context)
    )
  }

  /** Reads a call of a function that the text defines; null: no such function. */
  #functionCall(name: string, args: readonly string[], context: Context): string | null {
    const body = this.#functions.get(name)
    if (body === undefined) return null
    // A recursive function is read once.
    this.#functions.delete(name)
    this.#positional([name, ...args])
    const output = this.#node(body, { ...context, errors: [] })
    this.#functions.set(name, body)
    return output
  }

  /** Sets `$0`, `$1` and so on. */
  #positional(words: readonly string[]): void {
    for (const [index, word] of words.slice(0, 10).entries()) this.#state.set(String(index), word)
    for (const all of ['@', '*']) this.#state.set(all, words.slice(1).join(' '))
  }

  #builtin(name: string, args: readonly string[], isBroken: boolean, context: Context): string | null {
    switch (name) {
      case 'source':
      case '.':
        return this.#nested(this.#fileContent(args[0]), context, isBroken)
      case 'xargs':
      case 'parallel':
        for (const command of xargsCommands([name, ...args], context.input))
          this.#simpleCommand(command, [], isBroken, { ...context, input: '' })
        return UNKNOWN
      case 'find':
        for (const command of findCommands([name, ...args])) this.#simpleCommand(command, [], isBroken, context)
        return UNKNOWN
      case 'alias':
        for (const arg of args) {
          const equals = arg.indexOf('=')
          if (equals > 0) this.#state.aliases.set(arg.slice(0, equals), arg.slice(equals + 1))
        }
        return ''
      case 'cd':
      case 'pushd':
        this.#state.cwd = this.#state.resolve(args.find((arg) => !/^-[LPe@]*$/.test(arg)) ?? '~')
        return ''
      case 'set':
        if (args.includes('--')) this.#positional(['', ...args.slice(args.indexOf('--') + 1)])
        return ''
      case 'read':
        for (const [index, variable] of args.filter((arg) => /^[A-Za-z_]\w*$/.test(arg)).entries()) {
          this.#state.set(variable, context.input.trim().split(/\s+/)[index] ?? UNKNOWN)
        }
        return ''
      default:
        return null
    }
  }

  #other(name: string, args: readonly string[], context: Context): string {
    const files = args.filter((arg) => !arg.startsWith('-')).map((arg) => this.#fileContent(arg))
    const output = outputOf(name, args, context.input, files)
    if (name === 'tee') for (const path of args.filter((arg) => !arg.startsWith('-'))) this.#state.write(path, output)
    if (/^(?:cp|mv|install|ln)$/.test(name)) {
      const [from, to] = args.filter((arg) => !arg.startsWith('-'))
      // A copy of a program runs that program.
      const content =
        from === undefined
          ? null
          : (this.#state.read(from) ?? (/\/s?bin\//.test(from) ? `${shellQuote(from)} "$@"` : null))
      if (content !== null && to !== undefined) this.#state.write(to, content)
    }
    if (!isFetcher(name)) return output
    const target = downloadTarget(name, args)
    if (target === null) return FETCHED
    this.#state.write(target, FETCHED)
    return ''
  }

  #shellCall(words: readonly string[], isBroken: boolean, context: Context): string {
    const operand = shellOperand(words)
    switch (operand.kind) {
      case 'text':
        this.#positional(operand.args)
        return this.#nested(operand.text, context, isBroken)
      case 'file':
        return this.#nested(this.#fileContent(operand.path), { ...context, input: '' }, false)
      case 'input':
        return this.#nested(context.input, { ...context, input: '' }, isBroken)
      case 'none':
        return ''
      default:
        return operand satisfies never
    }
  }

  /** Reads a text that the current command executes, one level deeper. */
  #nested(text: string, context: Context, isBroken: boolean): string {
    if (isBroken && text !== '') this.isUncertain = true
    if (text === '' || text === UNKNOWN) return UNKNOWN
    return this.#script(text, { ...context, depth: context.depth + 1 })
  }

  /** Reads an interpreter call: only the origin of its program matters. */
  #interpreter(args: readonly string[], { input }: Context): void {
    const program = programOperand(args)
    const text =
      program.kind === 'text'
        ? program.text
        : program.kind === 'input'
          ? input
          : program.kind === 'file'
            ? this.#fileContent(program.path)
            : ''
    if (text.includes(FETCHED)) this.dangers.add('fetch-to-exec')
  }

  /** The content of a file; a path that is a marker from the network or a decoder stands for its content. */
  #fileContent(path: string | undefined): string {
    if (path === undefined) return UNKNOWN
    return this.#state.read(path) ?? (known(path) !== path && path.length < 3 ? path : UNKNOWN)
  }

  #redirections(redirects: readonly Redirection[], context: Context): { input: string | null; writes: string[] } {
    const expansion = this.#expansion(context)
    const writes: string[] = []
    let input: string | null = null
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        const { body, operator } = redirect
        const text = body.parts === undefined ? body.text : expandParts(body.parts, expansion)
        input = operator === '<<-' ? text.replace(/^\t+/gm, '') : text
      } else if (redirect.type === 'HereString') input = `${expandText(redirect.target, expansion)}\n`
      else {
        const target = expandText(redirect.target, expansion)
        if (redirect.operator === '<') input = this.#fileContent(target)
        else if (target !== '' && !/^(?:\d+|-)$/.test(target)) writes.push(this.#state.resolve(target))
      }
    }
    return { input, writes }
  }

  #assign(item: Extract<Command['prefix'][number], { type: 'Assignment' }>, expansion: ExpansionContext): string {
    if (item.index !== undefined) expandText(item.index, expansion)
    const value =
      item.value.type === 'Word'
        ? expandText(item.value, expansion)
        : item.value.elements.flatMap((element) => expand(element, expansion)).join(' ')
    this.#state.set(item.name, item.append === true ? this.#state.variable(item.name) + value : value)
    return value
  }

  #expansion(context: Context): ExpansionContext {
    return {
      state: this.#state,
      substitute: (script) => this.#statements(script, { ...context, errors: positions(script) }),
      processFile: (script, operator) => {
        const output = this.#statements(script, { ...context, errors: positions(script) })
        const path = `/dev/fd/p${this.#processFiles++}`
        if (operator === '<') this.#state.write(path, output)
        return path
      },
      visit: (node) => {
        this.#node(node, context)
      },
    }
  }

  #record(command: Pick<ShellCommand, 'name' | 'args' | 'writes' | 'isBroken'>, { isElevated }: Context): void {
    if (this.commands.length >= MAX_COMMANDS) throw new ReadingLimitExceeded('the text runs too many commands')
    this.commands.push({ ...command, cwd: this.#state.cwd, isElevated })
  }
}
