/**
 * Requirements that no test proves yet, in groups. A test that cites one removes it from here
 * (`node scripts/settle-pending.mjs` does it); `requirements.test.ts` refuses an id that is both cited and pending.
 */
export const pending: Readonly<Record<string, readonly string[]>> = {}
