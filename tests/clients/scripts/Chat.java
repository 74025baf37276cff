// The JDK's own client, which offers `Upgrade: h2c` with every request: whole, streamed, left.

import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;

public class Chat {
    static final HttpClient CLIENT = HttpClient.newHttpClient();
    static final String URL = System.getenv("OAI_BASE_URL") + "/chat/completions";

    static HttpRequest asking(String body) {
        return HttpRequest.newBuilder(URI.create(URL))
            .header("Authorization", "Bearer " + System.getenv("HORDE_API_KEY"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    }

    /** The way and the body of the request: `whole`, `lines`, or `leave` after the first words. */
    public static void main(String[] arguments) throws Exception {
        var request = asking(arguments[1]);
        switch (arguments[0]) {
            case "whole" -> {
                var response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
                System.out.println(response.version() + " " + response.statusCode());
                System.out.println(response.body());
            }
            case "lines" -> {
                var response = CLIENT.send(request, HttpResponse.BodyHandlers.ofLines());
                System.out.println(response.version() + " " + response.statusCode());
                try (Stream<String> lines = response.body()) {
                    lines.forEach(System.out::println);
                }
            }
            case "leave" -> {
                var response = CLIENT.send(request, HttpResponse.BodyHandlers.ofInputStream());
                var said = new StringBuilder();
                try (InputStream body = response.body()) {
                    var buffer = new byte[4096];
                    while (said.indexOf("\"content\"") < 0) {
                        int count = body.read(buffer);
                        said.append(new String(buffer, 0, count, StandardCharsets.UTF_8));
                    }
                }
                System.out.println("left");
                // The process stays until it is told to go: leaving was closing the body.
                System.in.read();
            }
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }
}
