/** Reminders for families of models about mistakes that they are known to make. Source: agent-core.md 9.3, 9.7. */

const CLAUDE = `<reminders>
- Solve the task that was given, at its size. No extra features, options, layers or fallbacks, and no tidying up beside it.
- Write the general solution. Code that only satisfies the tests at hand, or a test bent to pass, is not one.
- Read a file before you say anything about it. When you did not look, say that you did not.
- Make calls that do not need each other's results in one response.
- Create no files of notes, summaries or examples that nobody asked for, and remove helpers that you made on the way.
</reminders>`

const GEMINI = `<reminders>
- Act rather than announce: where the next step is clear, make the call instead of describing it.
- Go on until all of the task is done and checked. A plan, or half of the work with the rest explained, is no result.
- Before you use a library, a command or a pattern, see that the project has it. Do not assume.
- Give paths in full, and copy the text that an edit replaces exactly, with its white space.
- Read the answer of each call before the next. When you notice that you repeat yourself, change the approach.
</reminders>`

const GPT_5 = `<reminders>
- Carry the task through by yourself. Where something small is open, choose what fits best, go on, and name it in the report; ask only where the user's answer decides the result.
- Look for as much as you need to act, and no more; stop searching when you can name what has to change.
- Say in a sentence what you are about to do before a longer piece of work, then do it. Keep messages short and plain.
- Where two instructions seem to disagree, follow the user's newest words and say which one you left aside.
</reminders>`

const GPT_5_CODEX = `<reminders>
- Changes in the working tree that you did not make are the user's: leave them, and never undo them.
- Prefer the tool made for editing to writing files with commands.
- Keep the report short: what changed and where, how it was checked, what is left. Name files by path instead of showing their content.
- No plan for a single step; with a plan, never end with steps that are open and not mentioned.
</reminders>`

/** The reminders for a family, or for the variant of it; empty for others. */
export function modelNotes(family: unknown, variant: unknown): string {
  if (variant === 'gpt-5-codex') return GPT_5_CODEX
  if (variant === 'gpt-5') return GPT_5
  if (family === 'anthropic_claude') return CLAUDE
  return family === 'google_gemini' ? GEMINI : ''
}
