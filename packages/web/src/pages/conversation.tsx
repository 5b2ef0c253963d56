/** A conversation: timeline and composer. */
export function ConversationPage({ id }: { id: string }) {
  return <h1>{id}</h1>
}
