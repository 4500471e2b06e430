/** The gateway's four ways in and one way out. The session secret is a cookie that this code never sees. */
import { post } from "../api/http";
import type { SignedIn } from "./model";

export interface AuthDoor {
  byLink(token: string): Promise<SignedIn>;
  byPassword(email: string, password: string): Promise<SignedIn>;
  refresh(): Promise<SignedIn>;
  signOut(): Promise<void>;
}

export const authDoor: AuthDoor = {
  byLink: (token) => enter("/api/auth/link", { token }),
  byPassword: (email, password) => enter("/api/auth/password", { email, password }),
  refresh: () => enter("/api/auth/refresh"),
  signOut: async () => {
    await post("/api/auth/sign-out");
  },
};

async function enter(path: string, body?: unknown): Promise<SignedIn> {
  return (await post(path, body)).body as SignedIn;
}
